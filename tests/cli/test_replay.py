"""Logs of laws, replayed by the command line."""

import json
import re

import pytest

from levelflow.laws import Router, Sender
from levelflow.library import laws

EXPLICIT = [law["name"] for law in laws() if law["header_bytes"]]


def logged(law="jetmax"):
    """Returns the log of a router and a sender that exchanged packets for a while."""
    router = Router(law, 10e6, id=2, logged=True)
    sender = Sender(law, logged=True)
    for number in range(30):
        header = sender.send(number * 0.01, number, 1000)
        header = router.depart(router.arrive(1000, header))
        if number % 10 == 9:
            router.close(0.1)
        sender.feedback(number * 0.01 + 0.005, number, 0.005, header)
    sender.loss(0.5, 29, 30)
    sender.timeout(0.6, 30)
    return router, sender


@pytest.mark.parametrize("law", EXPLICIT)
def test_a_log_of_any_law_comes_out_the_same(law, levelflow, tmp_path):
    router, sender = logged(law)
    (tmp_path / "router").write_bytes(router.journal)
    (tmp_path / "sender").write_bytes(sender.journal)
    done = json.loads(levelflow("replay", "router", "--json").stdout)
    assert done["difference"] is None
    (own,) = done["instances"]
    assert (own["role"], own["calls"], own["headers"], own["states"]) == ("router", 63, 60, 3)
    assert own["law"] == next(entry["signalling"] for entry in laws() if entry["name"] == law)
    assert own["state"] == repr(router)
    done = json.loads(levelflow("replay", "sender", "--json").stdout)
    sends, answers = done["instances"]
    assert (sends["calls"], sends["headers"], sends["states"]) == (62, 30, 30)
    assert (answers["role"], answers["headers"]) == ("receiver", 30)
    assert sends["state"] == repr(sender)
    assert sends["span_s"] == pytest.approx(0.6)


def test_laws_without_logging_have_no_log():
    assert Router("rcp", 1e6).journal is None
    assert Sender("rcp").journal is None


def test_the_table_shows_the_router_and_its_parameters(levelflow, tmp_path):
    (tmp_path / "log").write_bytes(logged()[0].journal)
    done = levelflow("replay", "log")
    assert done.returncode == 0
    assert re.search(r"^0 router +jetmax +port 2 of 10 Mb/s +63 ", done.stdout, re.MULTILINE)
    assert "jetmax: clamp_n false, eps_p 0.05, gamma 1, hysteresis false, interval 100 ms" in done.stdout
    assert "Every header and every state is as logged." in done.stdout


def test_a_difference_exits_with_1_and_prints_both_values(levelflow, tmp_path):
    log = bytearray(logged()[0].journal)
    log[-1] ^= 1  # a byte of the last digest
    (tmp_path / "log").write_bytes(log)
    done = levelflow("replay", "log")
    assert done.returncode == 1
    assert re.search(
        r"Record \d+, instance 0: different state.\n +logged: +digest \w{16}\n +replayed: digest \w{16}: ", done.stdout
    )
    assert levelflow("replay", "log", "--json").returncode == 1


def test_a_log_that_was_cut_is_good_up_to_there(levelflow, tmp_path):
    (tmp_path / "log").write_bytes(logged()[0].journal[:-3])
    done = levelflow("replay", "log")
    assert done.returncode == 0
    assert "The log ends within a record, at byte" in done.stdout


def test_other_files_are_refused_in_one_line(levelflow, tmp_path):
    (tmp_path / "x").write_text("[[link]]")
    (tmp_path / "v1").write_bytes(b"LVJ\x01")
    (tmp_path / "odd").write_bytes(logged()[0].journal + b"\xff" * 40)
    for name, says in (
        ("x", "not a log"),
        ("v1", "the Levelflow that wrote it"),
        ("odd", "record"),
        ("none", "No such file"),
        (".", "directory"),
    ):
        done = levelflow("replay", name)
        assert done.returncode == 2, name
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
