"""Measures a JetMax router between two namespaces: `path.py LEVELFLOW_NET` prints the measurements as JSON.

The three namespaces have no names. They therefore disappear with this process, even after an error or a signal.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

NEWNET = 0x40000000
UDP_SEGMENT, UDP_GRO, RCVBUFFORCE = 103, 104, 33
HERE, THERE = "10.77.1.1", "10.77.2.1"
TURNS, TICKING, INTERVAL = 5, "500 ms", "5 ms"
#: Payload of a packet, bytes, and number of packets per send. One send passes 64 kB, which are cut into packets as by a
#: network card. A packet has 1500 B on the wire.
SEGMENT, SEGMENTS = 1458, 44
SENDING, LOST = 2.0, 0.5  # s; an ACK that takes longer is lost
LIBC = ctypes.CDLL(None, use_errno=True)


def main(program):
    here, router, there = (namespace() for _ in range(3))
    build(here, router, there)
    reloaded = all(load_and_unload(program, here, router, there) for _ in range(2))
    enter(router)
    late = [ticking(program) for _ in range(TURNS)]
    print(
        json.dumps(
            {"worst_late_us": late, "reloaded": reloaded, "forwarded_mbps": forwarded(program, here, router, there)}
        )
    )


def namespace():
    checked(LIBC.unshare(NEWNET))
    return os.open("/proc/self/ns/net", os.O_RDONLY)


def enter(namespace):
    checked(LIBC.setns(namespace, NEWNET))


def checked(status):
    if status != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def build(here, router, there):
    """Creates two pairs of devices, and the routes over these devices. The router's device towards `there` is the
    bottleneck.
    """
    enter(router)
    for device, far, near in (("lf0", here, 1), ("lf1", there, 2)):
        ip(f"link add {device} type veth peer name lf netns /proc/{os.getpid()}/fd/{far}")
        ip(f"addr add 10.77.{near}.2/24 dev {device}")
        ip(f"link set {device} up")
    with open("/proc/sys/net/ipv4/ip_forward", "w", encoding="ascii") as file:
        file.write("1")
    for far, near in ((here, 1), (there, 2)):
        enter(far)
        ip(f"addr add 10.77.{near}.1/24 dev lf")
        ip("link set lf up")
        ip(f"route add default via 10.77.{near}.2")
    enter(router)


def ip(words):
    subprocess.run(["ip", *words.split()], check=True)


@contextlib.contextmanager
def running(program, *options):
    """Runs a router at the bottleneck. Yields the router's process after the first reading."""
    command = [program, "router", "--dev", "lf1", "--capacity", "10 Gb/s", "--json", "--realtime", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            if not process.stdout.readline():
                raise RuntimeError("the router did not start")
            yield process
        finally:
            process.send_signal(signal.SIGINT)


def ticking(program):
    """Largest delay of an interval's end, us."""
    with running(program, "--set", f"interval={INTERVAL}", "--duration", TICKING, "--every", "100 ms") as process:
        last = process.stdout.readlines()[-1]
    return json.loads(last)["worst_late_ns"] / 1e3


def load_and_unload(program, here, router, there):
    """True if packets pass while a router runs, and after its detach command."""
    sender, receiver = sockets(here, there)
    enter(router)
    with running(program, "--every", "20 ms", "--duration", "10 s") as process:
        with_it = exchange(sender, receiver)
        detached = subprocess.run([program, "router", "detach", "--dev", "lf1"], capture_output=True, check=False)
        stamped = json.loads(process.stdout.readlines()[-1])["stamped"]
    return with_it and exchange(sender, receiver) and stamped > 0 and detached.returncode == process.returncode == 0


def forwarded(program, here, router, there):
    """Throughput of the router with JetMax headers in each packet, Mb/s; 0 if a packet is lost."""
    sender, receiver = sockets(here, there)
    enter(router)
    count = 0
    with running(program, "--every", "100 ms", "--duration", "10 s") as process:
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < SENDING:
            if not exchange(sender, receiver):
                return 0.0
            count += 1
        process.send_signal(signal.SIGINT)
        last = json.loads(process.stdout.readlines()[-1])
    if last["stamped"] != count * SEGMENTS or last["dropped"]:
        return 0.0
    return count * SEGMENTS * (SEGMENT + 42) * 8 / passed / 1e6


def sockets(here, there):
    enter(there)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.IPPROTO_UDP, UDP_GRO, 1)
    receiver.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 1 << 23)
    receiver.bind((THERE, 7700))
    enter(here)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SEGMENT)
    sender.connect((THERE, 7700))
    return sender, receiver


def exchange(sender, receiver):
    """Sends a burst and waits for all its packets. Returns False if one is lost."""
    sender.send(BURST)
    missing = len(BURST)
    while missing > 0:
        if not select.select([receiver], [], [], LOST)[0]:
            return False
        missing -= len(receiver.recv(1 << 16))
    return missing == 0


def packet():
    """A data packet of JetMax that has not passed a router. docs/reference/wire-format.md describes it."""
    shim = struct.pack(">3sBBBBBIIQ", b"LVF", 1, 0, 0, 1, 28, 1, 0, 0)
    header = struct.pack(
        ">HHBBBBIffff", 0, 0, 0, 0, 0, 0, 0, -3.4028234663852886e38, 3.4028234663852886e38, 1500.0, 1e-5
    )
    return (shim + header).ljust(SEGMENT, b"\0")


BURST = packet() * SEGMENTS

if __name__ == "__main__":
    main(sys.argv[1])
