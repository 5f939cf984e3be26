"""Queue disciplines in `levelflow buffers`: registry, delay of a call, and commands for real hosts."""

import json
import re
import shlex
import subprocess

import pytest
from click.testing import CliRunner
from conftest import lack

from levelflow import Scenario, library
from levelflow.buffers.candidates import Targets
from levelflow.buffers.choice import question
from levelflow.buffers.commands import commands, kbit, sqm, tc
from levelflow.buffers.queues import TAIL, compared_queues, disciplines, felt, small_flows, with_queue, written
from levelflow.cli import app
from levelflow.workers import Workers

LINK = "home->net"
CAPACITY = 10e6
UNKNOWN = "Error: Specified qdisc kind is unknown."


def line(duration="10 s", upload=True):
    network = Scenario("line", duration, sample="100 ms")
    network.link("home", "net", "10 Mb/s", "10 ms", buffer="256 kB", duplex=True, reverse={"capacity": "50 Mb/s"})
    if upload:
        network.flow("upload", "cubic", "home", "net", packet="1500 B")
    return network.flow("call", {"cbr": {"rate": "85.6 kb/s", "acks": True}}, "home", "net", packet="214 B")


def test_every_discipline_of_the_registry_is_compared():
    asked = question(line(), Targets(0.9, 0.05), link=LINK)
    with Workers(2, lambda _done, _of: None) as runs:
        found = {one.name: one for one in compared_queues(asked, runs, [written(asked)])}
    assert set(found) == {"as written"} | {one["name"] for one in library.queues()} - {TAIL}
    for name, one in found.items():
        assert one.line is not None, f"{name}: {one.why}"
        assert 0 < one.line.used.utilisation <= 1.01, name
        assert 0.0202 < one.felt.call < 1.0, name
        assert one.felt.median <= one.felt.p99, name
    # A buffer of 256 kB (205 ms) is full most of the time; CoDel's target is 5 ms.
    tail, codel = found["as written"].felt, found["codel"].felt
    assert 0.1 < tail.median < 0.21
    assert codel.median < 0.01
    assert codel.call < tail.call / 2


def test_without_load_a_call_has_the_round_trip_of_the_wire():
    result = line(upload=False).run()
    assert small_flows(line(upload=False), LINK, result) == ["call"]
    found = felt(result, LINK, ["call"])
    wire = 0.02 + 8 * 214 / 10e6 + 8 * 40 / 50e6
    assert found.median == 0.0
    assert found.call == pytest.approx(wire, rel=0.01)  # not exact: a quantile of a histogram


def test_a_flow_that_fills_the_line_is_no_call():
    network = line().flow("most", {"cbr": {"rate": "5 Mb/s"}}, "home", "net")
    network.flow("back", {"cbr": {"rate": "80 kb/s"}}, "net", "home")
    assert small_flows(network, LINK, network.run()) == ["call"]
    assert felt(network.run(), LINK, []).call is None


def test_a_discipline_is_set_in_one_direction():
    before = line()
    after = with_queue(before, LINK, "codel", "1000 packets").resolve()["links"]
    assert [list(link["queue"]) for link in after] == [["codel"], [TAIL]]
    assert [link["buffer"] for link in after] == ["1000 packets", "256 kB"]
    back = with_queue(before, "net->home", "codel", "1000 packets").resolve()["links"]
    assert [list(link["queue"]) for link in back] == [[TAIL], ["codel"]]
    assert "queue" not in before.raw["link"][0]


def test_disciplines_with_a_shaper_are_set_to_95_per_cent_of_the_line():
    for queue in disciplines(CAPACITY).values():
        if isinstance(queue, dict):
            assert list(queue.values()) == [{"rate": "9500000 b/s"}]


def test_the_command_shows_a_call_and_ends_with_settings(tmp_path):
    (tmp_path / "line.toml").write_text(line("5 s").to_toml(), encoding="utf-8")
    out = tmp_path / "rows.json"
    words = ["buffers", str(tmp_path / "line.toml"), "--utilisation", "0.9", "--loss", "0.05", "--json", str(out)]
    done = CliRunner().invoke(app, [*words, "--seeds", "2", "--link", LINK])
    assert done.exit_code == 0, done.output
    assert "call p99, ms" in done.stdout
    assert done.stdout.rstrip().endswith("/etc/init.d/sqm restart")
    found = json.loads(out.read_text(encoding="utf-8"))
    names = [one["name"] for one in found["queues"]]
    assert names[0] == "as written"
    assert names[-len(disciplines(1.0)) :] == list(disciplines(1.0))
    keys = {"queueing_delay_p50_s", "queueing_delay_p99_s", "call_p99_s", "call_p99_s_half", "utilisation", "missed"}
    for one in found["queues"]:
        assert keys <= set(one)
    assert found["commands"]["cake"] == ["tc qdisc replace dev DEVICE root cake bandwidth 9500kbit"]
    assert "uci set sqm.wan.download='47500'" in found["commands"]["OpenWrt SQM"]


def test_shapers_send_less_than_the_line():
    for capacity in (1e3, 64e3, 9.99e6, 1e9):
        assert kbit(capacity) == 1 or 0.93 * capacity <= 1e3 * kbit(capacity) <= 0.95 * capacity
        rates = re.findall(
            r"(?:rate|bandwidth) (\d+)kbit", " ".join(text for one in tc(capacity) for text in one.lines)
        )
        assert set(rates) == {str(kbit(capacity))}
    assert "uci set sqm.wan.download='0'" in sqm(1e6, None).lines


def test_settings_of_openwrt_are_lines_of_uci():
    *settings, commit, restart = sqm(9.99e6, 50e6).lines
    assert (commit, restart) == ("uci commit sqm", "/etc/init.d/sqm restart")
    assert all(re.fullmatch(r"uci set sqm\.wan(\.[a-z]+)?=\S+", " ".join(shlex.split(text))) for text in settings)


@pytest.mark.needs("root")
@pytest.mark.real_time
@pytest.mark.parametrize("capacity", [300e3, 9.99e6, 940e6])
def test_tc_accepts_the_commands(capacity):
    """Each command runs in a network namespace. If the kernel lacks the discipline, tc has still parsed the line."""
    lacking = set()
    for one in tc(capacity):
        lines = " && ".join(text.replace("DEVICE", "d0") for text in one.lines)
        script = f"ip link add d0 type veth peer name d1 && {lines} && tc -s qdisc show dev d0"
        done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False)
        complaint = [text for text in done.stderr.splitlines() if "quantum of class" not in text]
        if complaint and complaint[0] == UNKNOWN:
            lacking.add(one.name)
            continue
        assert (done.returncode, complaint) == (0, []), f"{one}: {done.stderr}"
        assert f"{one.name.split()[-1]} " in done.stdout
    assert "tbf and pfifo" not in lacking
    if lacking:
        lack("qdisc", f"this kernel has no {', '.join(sorted(lacking))}; tc read their lines")


def test_commands_with_two_rates_end_with_openwrt_sqm():
    assert [one.name for one in commands(10e6, 50e6)][-1] == "OpenWrt SQM"
