"""Traffic of the kernel's own TCP and UDP for experiments in network namespaces. Needs only Python.

    python live_traffic.py sink PORT
    python live_traffic.py flows HOST PORT LAW COUNT SECONDS
    python live_traffic.py short HOST PORT LAW PER_SECOND BYTES SECONDS
    python live_traffic.py udp HOST PORT BITS_PER_SECOND SECONDS

``short`` prints the duration of each transfer in seconds, one per line.
"""

from __future__ import annotations

import contextlib
import random
import socket
import sys
import threading
import time

CHUNK = bytes(1 << 16)
#: Payload of a datagram, bytes.
DATAGRAM = 1000
#: Seed of the random arrivals.
SEED = 1


def connected(host: str, port: int, law: str) -> socket.socket:
    """Returns a TCP connection that uses the given congestion control."""
    flow = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    flow.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, law.encode())
    flow.settimeout(10)
    flow.connect((host, port))
    return flow


def sink(port: int) -> None:
    """Receives and discards all data until the process is killed."""
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", port))
    server = socket.create_server(("", port), backlog=1000)

    def drain(flow: socket.socket) -> None:
        with flow, contextlib.suppress(OSError):
            while flow.recv(1 << 16):
                pass

    while True:
        flow, _ = server.accept()
        threading.Thread(target=drain, args=(flow,), daemon=True).start()


def flows(host: str, port: int, law: str, count: int, seconds: float) -> None:
    """Sends `count` long flows at full speed."""
    end = time.monotonic() + seconds

    def send() -> None:
        try:
            with connected(host, port, law) as flow:
                flow.settimeout(0.2)
                while time.monotonic() < end:
                    with contextlib.suppress(TimeoutError):
                        flow.send(CHUNK)
                # Close discards data that are still in the socket.
                flow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError as error:
            print(f"{law}: {error}", file=sys.stderr)

    together([threading.Thread(target=send, daemon=True) for _ in range(count)], end + 1)


def short(host: str, port: int, law: str, per_second: float, size: int, seconds: float) -> None:
    """Sends transfers with Poisson arrivals. Each transfer ends when the receiver has the transfer's last byte."""
    draw = random.Random(SEED)
    end = time.monotonic() + seconds
    workers: list[threading.Thread] = []

    def transfer() -> None:
        begun = time.monotonic()
        try:
            with connected(host, port, law) as flow:
                flow.sendall(bytes(size))
                flow.shutdown(socket.SHUT_WR)
                flow.recv(1)
            # Writes once. With print, another thread could write between a number and its newline.
            sys.stdout.write(f"{time.monotonic() - begun:.4f}\n")
            sys.stdout.flush()
        except OSError as error:
            print(f"a short flow: {error}", file=sys.stderr)

    while True:
        gap = draw.expovariate(per_second)
        if time.monotonic() + gap >= end:
            break
        time.sleep(gap)
        workers.append(threading.Thread(target=transfer, daemon=True))
        workers[-1].start()
    for worker in workers:
        worker.join(max(0.0, end + 5 - time.monotonic()))


def udp(host: str, port: int, rate: float, seconds: float) -> None:
    """Sends datagrams at a constant rate. The rate does not count headers."""
    gap = DATAGRAM * 8 / rate
    begun = time.monotonic()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
        for number in range(int(seconds / gap)):
            time.sleep(max(0.0, begun + number * gap - time.monotonic()))
            flow.sendto(bytes(DATAGRAM), (host, port))


def together(workers: list[threading.Thread], end: float) -> None:
    """Starts all threads and waits for them until the time `end` at the latest."""
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))


def main(words: list[str]) -> None:
    """Runs the command that the arguments name."""
    match words:
        case ["sink", port]:
            sink(int(port))
        case ["flows", host, port, law, count, seconds]:
            flows(host, int(port), law, int(count), float(seconds))
        case ["short", host, port, law, per_second, size, seconds]:
            short(host, int(port), law, float(per_second), int(size), float(seconds))
        case ["udp", host, port, rate, seconds]:
            udp(host, int(port), float(rate), float(seconds))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
