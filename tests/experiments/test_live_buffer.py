"""Tables of the live-buffer experiment. The experiment itself does not run here, because it needs root and several
minutes.
"""

import math
import socket
import threading
import time

import pytest
from experiments import live_buffer, live_traffic

from levelflow.measure.utilisation import Use


def decision(time_, sent, dropped, limit):
    return {
        "time": time_,
        "elapsed_ns": 1_000_000_000,
        "sent": sent,
        "admitted": sent,
        "dropped": dropped,
        "wait": 0.01,
        "utilisation": sent * 8 / live_buffer.RATE,
        "loss": dropped / (sent + dropped),
        "before": 2 * limit,
        "limit": limit,
    }


SMALL = live_buffer.Phase("a phase", 30, ())


def test_queues_are_judged_by_the_later_half():
    packet = live_buffer.PACKET
    early = [decision(t, 1000, 1000, 9 * packet) for t in (1.0, 2.0)]
    later = [decision(t, 1_125_000, 125_000, 5 * packet) for t in (3.0, 4.0)]
    run = live_buffer.Run(SMALL, 3, True, early + later, [0.5])
    assert run.later(4.0) == pytest.approx(Use(0.9, 0.1, 5.0, math.nan, 0.01), nan_ok=True)
    dry = live_buffer.Run(SMALL, 3, False, early + later, [])
    assert dry.later(4.0).buffer == pytest.approx(10.0), "a dry run leaves the limit as it was"
    lines = live_buffer.table([run, dry], 4.0).splitlines()
    assert lines[1].startswith("a phase ")
    assert "sized, from 3 packets" in lines[1]
    assert lines[1].endswith(" no")
    assert lines[2].startswith("  "), "the phase is named once"
    assert "median 0.50 s" in lines[3]


@pytest.mark.parametrize(
    ("used", "lost", "word"),
    [
        (0.941, 0.001, "yes"),
        (0.939, 0.001, "no"),
        (0.999, 0.0219, "yes"),
        (0.999, 0.0221, "no"),
        (0.961, 0.0179, "too large"),
        (0.95, 0.0221, "no"),
    ],
)
def test_a_row_meets_its_targets_with_the_smallest_queue_that_does(used, lost, word):
    assert live_buffer.TARGETS.fit(Use(used, lost, 7.0, math.nan, 0.0)) == word


def test_experiments_start_ten_times_too_small_and_too_large():
    assert SMALL.firsts() == (3, 300)
    assert live_buffer.Phase("", 4, ()).firsts() == (1, 40), "none is smaller than a packet"


def test_the_picture_shows_limit_use_and_loss_of_each_phase():
    made = [decision(float(t), 1_000_000, 10_000, 9000) for t in range(1, 9)]
    other = live_buffer.Phase("another", 30, ())
    runs = [live_buffer.Run(phase, first, True, made, []) for phase in (SMALL, other) for first in phase.firsts()]
    axes = live_buffer.picture(runs).axes
    assert [ax.get_ylabel() for ax in axes[::2]] == ["limit (packets)", "used (%)", "lost (%)"]
    assert [ax.get_title(loc="left") for ax in axes[:2]] == ["a phase", "another"]


def test_fixed_queues_take_no_parameters_of_an_algorithm(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["live_buffer", "--fixed", "--set", "gain=0.1"])
    with pytest.raises(SystemExit) as caught:
        live_buffer.main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[-1].endswith("--set: --fixed sizes no queue; leave one of them out")


def test_fixed_queues_leave_their_table(tmp_path, monkeypatch, capsys):
    run = live_buffer.Run(live_buffer.FIXED, 40, False, [decision(1.0, 1_000_000, 10_000, 9000)], [])
    monkeypatch.setattr(live_buffer, "usable", lambda: tmp_path)
    monkeypatch.setattr(live_buffer, "side_by_side", lambda *_words: [run])
    live_buffer.fixed(tmp_path / "out", 1.0)
    assert (tmp_path / "out" / "table.txt").read_text() == capsys.readouterr().out.rpartition("table and")[0]


@pytest.mark.parametrize("seconds", ["nan", "inf", "0", "-1", "1e9"])
def test_a_phase_of_no_length_is_refused_in_a_line(seconds, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["live_buffer", f"--seconds={seconds}"])
    with pytest.raises(SystemExit):
        live_buffer.main()
    assert capsys.readouterr().err.splitlines()[-1].endswith("allowed are 1 to 3600")


@pytest.mark.real_time
def test_traffic_arrives_and_short_flows_are_timed(capsys):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    threading.Thread(target=live_traffic.sink, args=(port,), daemon=True).start()
    time.sleep(0.2)
    live_traffic.main(["udp", "127.0.0.1", str(port), "1e5", "0.2"])
    live_traffic.main(["flows", "127.0.0.1", str(port), "cubic", "2", "0.3"])
    live_traffic.main(["short", "127.0.0.1", str(port), "cubic", "50", "1000", "0.3"])
    times = [float(line) for line in capsys.readouterr().out.split()]
    assert len(times) > 3
    assert all(0 < t < 5 for t in times)


def test_bad_words_are_refused():
    with pytest.raises(SystemExit, match="short HOST PORT"):
        live_traffic.main(["nonsense"])
