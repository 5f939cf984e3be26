"""The dissector in tshark, compared with independent readers."""

import random
import struct
import subprocess

import pytest
from test_capture import HEADERS, SHIM, frames
from tools import reference

from levelflow import Scenario
from levelflow.capture import Capture

#: Laws on the wire by name, with their fields.
LAWS = {law["name"]: law for law in reference.on_the_wire()}


def layout(law):
    """Returns the format of a header, in the notation of `struct`."""
    return ">" + "".join(
        "f" if "range" in row else {1: "B", 2: "H", 3: "3s", 4: "I"}[row["bytes"]] for row in law["header"]
    )


pytestmark = pytest.mark.needs("tshark")


def tshark(path, *options):
    command = ["tshark", "-X", f"lua_script:{reference.DISSECTOR}", "-r", path, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr
    assert "Lua Error" not in done.stdout
    return done.stdout.splitlines()


def same(shown, value):
    """Returns True if tshark shows this value. tshark prints floats with six digits, and numbers in decimal or
    hexadecimal.
    """
    if isinstance(value, float):
        return float(shown) == pytest.approx(value, rel=1e-5)
    return int(shown, 0) == (int.from_bytes(value) if isinstance(value, bytes) else value)


@pytest.mark.parametrize("law", LAWS)
def test_fields_are_those_that_the_simulator_sent(law, tmp_path):
    scenario = (
        Scenario("x", "400 ms")
        .link("R1", "R2", "10 Mb/s", "5 ms", duplex=True)
        .flow("a", law, "R1", "R2")
        .flow("b", law, "R1", "R2", rtt="30 ms")
    )
    path = tmp_path / "x.pcapng"
    scenario.run(capture=Capture(path))
    number, form = LAWS[law]["number"], layout(LAWS[law])
    own = [f"levelflow.{law}.{row['name']}" for row in LAWS[law]["header"]]
    shim = [f"levelflow.{name}" for name in ("version", "kind", "signalling", "header", "flow", "number", "time")]
    fields = [option for name in shim + own for option in ("-e", name)]
    lines = tshark(path, "-T", "fields", *fields)
    sent = [data for *_, data in frames(path)]
    assert len(lines) == len(sent) > 20
    for line, data in zip(lines, sent, strict=True):
        shown = line.split("\t")
        _, version, kind, _, *rest = SHIM.unpack_from(data, HEADERS)
        assert rest[0] == number
        expected = [version, kind, *rest, *struct.unpack_from(form, data, HEADERS + SHIM.size)]
        assert len(shown) == len(expected)
        for text, value in zip(shown, expected, strict=True):
            assert same(text, value), (line, expected)
    assert not tshark(path, "-Y", "_ws.expert")


def wrap(payload):
    """Returns a packet of a pcap file with this UDP payload."""
    udp = struct.pack(">HHHH", 1, 2, 8 + len(payload), 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, b"\x0a\0\0\1", b"\x0a\0\0\2")
    frame = bytes(12) + b"\x08\0" + ip + udp + payload
    return struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame


def write(path, payloads):
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(map(wrap, payloads)))


def shim(signalling=0, header=b"", kind=0, flags=0, version=1, length=None):
    length = len(header) if length is None else length
    return SHIM.pack(b"LVF", version, kind, flags, signalling, length, 7, 8, 9) + header


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (shim(1, bytes(28))[:-1], "levelflow.cut"),
        (shim()[:10], "levelflow.cut"),
        (shim(version=2), "levelflow.version.unknown"),
        (shim(kind=4), "levelflow.kind.refused"),
        (shim(99, bytes(5)), "levelflow.signalling.unknown"),
        (shim(3, bytes(9)), "levelflow.header.refused"),
        (shim(3, struct.pack(">ff", 0, 1)), "levelflow.field.refused"),
        (shim(3, struct.pack(">ff", 1, 101)), "levelflow.field.refused"),
        (
            shim(1, struct.pack(layout(LAWS["jetmax"]), 0, 0, 0, 0, 0, 0, 0, float("nan"), 1, 1, 1)),
            "levelflow.field.refused",
        ),
        (shim(2, struct.pack(">IIffI", 1, 2, 1.5, 1, 1)), "levelflow.field.refused"),
        (shim(4, bytes(8)), "levelflow.field.refused"),
        (shim(5, struct.pack(layout(LAWS["xcp"]), 0, 20, 0x33, 0, 1, 0, 0, 0)), "levelflow.field.refused"),
        (shim(7, struct.pack(">fI", float("inf"), 1)), "levelflow.field.refused"),
        (shim(flags=0x80), "levelflow.cut"),
        (shim(flags=0x80) * 20, "levelflow.chain.refused"),
    ],
)
def test_malformed_packets_are_flagged(payload, says, tmp_path):
    write(tmp_path / "x", [payload, shim(3, struct.pack(">ff", 1, 1))])
    assert len(tshark(tmp_path / "x", "-Y", says)) == 1
    assert len(tshark(tmp_path / "x", "-Y", "levelflow")) == 2


def test_an_ack_in_front_of_data_is_shown_beside_it(tmp_path):
    rcp = struct.pack(">ff", 1e6, 0.5)
    write(tmp_path / "x", [shim(3, rcp, flags=0x80) + shim(3, rcp, kind=3, flags=1) + b"payload"])
    (line,) = tshark(tmp_path / "x", "-T", "fields", "-e", "levelflow.kind", "-e", "levelflow.payload")
    assert line.split("\t") == ["0,3", b"payload".hex()]
    (line,) = tshark(tmp_path / "x")
    assert "Data 8 flow 0x00000007 rcp rate=1e+06 | Ack 8 flow 0x00000007 rcp marked" in line


def test_no_bytes_are_an_error_of_the_script(tmp_path):
    chance = random.Random(7)
    payloads = []
    for _ in range(3000):
        header = chance.randbytes(chance.choice([0, 8, 20, 24, 28, chance.randrange(60)]))
        length = chance.choice([len(header), chance.randrange(256)])
        one = shim(chance.randrange(9), header, chance.randrange(5), chance.choice([0, 0x80]), 1, length)
        one += chance.randbytes(chance.randrange(50))
        payloads.append(one[: chance.choice([len(one), chance.randrange(len(one))])])
    payloads += [b"", b"LVF", b"LVF\x01", b"LVF\x02", b"LVG\x01" + bytes(30)]
    write(tmp_path / "x", payloads)
    assert len(tshark(tmp_path / "x", "-V", "-T", "fields", "-e", "frame.number")) == len(payloads)
    assert len(tshark(tmp_path / "x", "-Y", "levelflow")) > 2000
