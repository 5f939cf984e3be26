"""The tables of the experiment with live buffers; the experiment itself needs root, and minutes."""

import socket
import threading
import time

import pytest

from levelflow import live_buffer, live_traffic


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


def test_phases_are_judged_by_their_later_half():
    packet = live_buffer.PACKET
    early = [decision(t, 1000, 1000, 9 * packet) for t in (1.0, 2.0)]
    later = [decision(t, 1_125_000, 125_000, 5 * packet) for t in (3.0, 4.0)]
    run = live_buffer.Run(3, True, early + later, [0.5])
    row = run.rows(4.0)[0]
    assert row == pytest.approx({"used": 0.9, "lost": 0.1, "wait": 0.01, "limit": 5.0})
    dry = live_buffer.Run(3, False, early + later, [])
    assert dry.rows(4.0)[0]["limit"] == pytest.approx(10.0), "a dry run leaves the limit as it was"
    text = live_buffer.table([run, dry], 4.0)
    assert "sized, from 3 packets" in text
    assert "median 0.50 s" in text


def test_the_picture_shows_limit_use_and_loss():
    run = live_buffer.Run(3, True, [decision(float(t), 1_000_000, 10_000, 9000) for t in range(1, 9)], [])
    axes = live_buffer.picture([run], 2.0).axes
    assert [ax.get_ylabel() for ax in axes] == ["limit (packets)", "used (%)", "lost (%)"]


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
