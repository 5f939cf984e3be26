"""Captures of the simulator, read by a small independent reader: frames, checksums, headers."""

import struct
from ipaddress import ip_address

import pytest
from conftest import network

from levelflow.capture import Capture

HEADERS = 14 + 20 + 8
SHIM = struct.Struct(">3sBBBBBIIQ")


def frames(path):
    """Yields (interface, time in ns, original length, bytes) of each packet of a pcapng file."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        code, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        if code == 6:
            interface, high, low, captured, original = struct.unpack_from("<IIIII", data, at + 8)
            yield interface, high << 32 | low, original, data[at + 28 : at + 28 + captured]
        at += length


def ones_sum(data):
    """Returns the checksum of RFC 1071."""
    words = struct.unpack(f">{len(data) // 2}H", data)
    return sum(words) % 0xFFFF


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("capture")
    scenario = network(duration="3 s", seed=5, profile="paper").flow("tcp", "dctcp", "R1", "R2", rtt="20 ms")
    scenario.set("link.1.queue", {"red": {"ecn": True}}).set("link.1.buffer", "50 packets")
    result = scenario.run(out=folder / "run", capture=Capture(folder / "all.pcapng"))
    return result, list(frames(folder / "all.pcapng"))


def test_every_packet_that_a_link_delivers_is_there(run):
    result, captured = run
    for number, link in enumerate(result.summary["links"]):
        own = [frame for frame in captured if frame[0] == number]
        assert len(own) == link["delivered_packets"] > 100
    times = [time for _, time, _, _ in captured]
    assert times == sorted(times)
    assert times[-1] <= 3e9


def test_sizes_and_checksums_are_right(run):
    for _, _, original, data in run[1]:
        ip, udp = data[14:34], data[34:]
        assert original >= len(data) >= HEADERS + SHIM.size
        assert struct.unpack_from(">H", ip, 2) == (original - 14,)
        assert struct.unpack_from(">H", udp, 4) == (original - 34,)
        assert ones_sum(ip) == 0
        pseudo = ip[12:20] + struct.pack(">HH", 17, original - 34)
        assert ones_sum(pseudo + udp + b"\0" * (len(udp) % 2)) == 0


def test_acks_return_number_and_time_of_their_packet(run):
    sent, answered = {}, 0
    for _, time, original, data in run[1]:
        magic, version, kind, flags, law, length, flow, number, stamp = SHIM.unpack_from(data, HEADERS)
        header = data[HEADERS + SHIM.size :]
        assert (magic, version, len(header)) == (b"LVF", 1, length)
        assert (law, length) in {(0, 0), (1, 28)}
        assert stamp <= time
        source, destination = (str(ip_address(data[at : at + 4])) for at in (26, 30))
        if kind == 3:
            assert (source, destination) == ("10.0.0.2", "10.0.0.1")
            before, told, marked = sent[flow, number]
            assert (stamp, bool(flags & 1)) == (before, marked)
            if law:
                assert header == told[:4] + bytes([told[4] | 0x80]) + told[5:]
                answered += 1
        else:
            assert (source, destination) == ("10.0.0.1", "10.0.0.2")
            assert (flow, number) not in sent
            sent[flow, number] = (stamp, header, data[15] & 3 == 3)
            assert original == 1000 or law or kind == 1
            if law:
                assert struct.unpack_from(">I", header, 8) == (number,)
    assert answered > 500
    assert len({flow for flow, _ in sent}) == 3
    assert any(marked for _, _, marked in sent.values())


def test_only_the_links_asked_for_are_watched(tmp_path):
    network(duration="1 s").run(capture=Capture(tmp_path / "x", ["R2->R1"]))
    kinds = {data[HEADERS + 4] for _, _, _, data in frames(tmp_path / "x")}
    assert kinds == {3}


def test_a_capture_changes_no_result(tmp_path):
    plain, watched = tmp_path / "plain", tmp_path / "watched"
    network().run(out=plain)
    network().run(out=watched, capture=Capture(tmp_path / "x"))
    for name in ("flows.parquet", "links.parquet", "summary.json"):
        assert (plain / name).read_bytes() == (watched / name).read_bytes()


def test_what_cannot_be_captured_is_refused_before_anything_is_written(levelflow, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("keep me")
    for options, says in (
        (["--pcap", "notes.txt"], "is not a capture"),
        (["--pcap", "."], "not a file"),
        (["--pcap", "no/where"], "directory does not exist"),
        (["--pcap", "x", "--pcap-link", "R1-R2"], 'did you mean "R1->R2"'),
        (["--pcap-link", "R1->R2"], "needs --pcap"),
        (["--pcap", "x", "--set", 'encapsulation="ipv6"'], "encapsulation: captures have the headers of"),
        (["--pcap", "x", "--set", 'encapsulation="quic"'], "encapsulation: captures have the headers of"),
    ):
        done = levelflow("run", "two-flows", *options)
        assert done.returncode == 2, options
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
    assert notes.read_text() == "keep me"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
