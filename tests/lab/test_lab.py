"""The lab: the server rejects other users, the page works in a browser, and the page's fair rates equal those of
theory.
"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import closing
from threading import Thread

import numpy as np
import polars as pl
import pytest
from conftest import lack
from tools import CHECKOUT

from levelflow import Result, Scenario, lab
from levelflow.theory.competition import in_force
from levelflow.theory.networks.maxmin import maxmin
from levelflow.theory.references import reference

TESTS = CHECKOUT / "apps" / "lab" / "tests"
T1_FILE = Scenario.load(CHECKOUT / "apps" / "lab" / "web" / "presets" / "t1.toml")
T1 = T1_FILE.to_json()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Creates a folder with the files of a built page."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "presets").mkdir()
    for name in ("engine.wasm", "main.js", "index.html"):
        (folder / name).write_text("<html><head></head>", encoding="utf-8")
    (folder.parent / "secret.html").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def server(page):
    with lab.Server(page=page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def ask(server, path="/", method="GET", body=None, token=None, **headers):
    where = f"/{server.token if token is None else token}{path}"
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request(method, where, body, {"Content-Type": "application/json"} | headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_address_with_its_token_opens_the_page(server):
    status, content = ask(server)
    assert (status, lab.MARK in content) == (200, True)
    assert ask(server, "/engine.wasm")[0] == 200


# **Invariant** (The lab): the server accepts only requests with its token and from its own origin. It rejects malformed
# and oversized requests with a one-line message. See `test_other_origins_are_refused`,
# `test_malformed_and_oversized_requests_are_refused_in_a_line`.
@pytest.mark.parametrize("token", ["", "x", "../", "%00", "%C3%84"])
def test_requests_without_the_token_are_rejected(server, token):
    status, content = ask(server, token=token)
    assert status == 404
    assert b"levelflow lab printed" in content


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "example.org"},
        {"Sec_Fetch_Site": "cross-site"},
    ],
)
def test_other_origins_are_refused(server, headers):
    assert ask(server, "/theory", "POST", T1, **headers)[0] == 403
    own = {"Origin": server.url.removesuffix(f"/{server.token}/"), "Sec_Fetch_Site": "same-origin"}
    assert ask(server, "/theory", "POST", T1, **own)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        *("/../secret.html", "/%2e%2e/secret.html", "//etc/passwd", "/presets", "/nothing.js"),
        pytest.param("/" + 5000 * "a" + ".js", id="a name that no file can have"),
    ],
)
def test_no_file_outside_the_page_is_sent(server, path):
    status, content = ask(server, path)
    assert status == 404
    assert b"secret" not in content


def test_malformed_and_oversized_requests_are_refused_in_a_line(server):
    asked = [
        ("{", {}, 400),
        ("[" * 100_000, {}, 400),
        ("[]", {}, 200),
        ("x" * 10, {"Content_Length": str(10**9)}, 413),
        ("x", {"Content_Length": "-1"}, 411),
        (T1, {"Content_Type": "text/plain"}, 415),
    ]
    for body, headers, expected in asked:
        status, content = ask(server, "/theory", "POST", body, **headers)
        assert status == expected, body[:20]
        assert len(json.loads(content)["wrong"].splitlines()) == 1
    for garbage in (b"\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(garbage)
            assert re.search(rb"Error code: 4|HTTP/1.1 4", connection.recv(1000))
    assert ask(server)[0] == 200  # the server still responds


def test_a_listening_server_serves_other_names_with_its_token_and_from_its_own_origin(page):
    with lab.Server(page=page, listen="0.0.0.0") as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert re.fullmatch(rf"http://[\w.-]+:{server.port}/{server.token}/", server.url)
        assert not server.url.startswith("http://0.0.0.0")
        outside = {"Host": "class.example.org:80"}  # name and port of a container's host
        assert ask(server, **outside)[0] == 200
        assert ask(server, token="x", **outside)[0] == 404
        same = outside | {"Origin": "http://class.example.org:80"}
        assert ask(server, "/theory", "POST", T1, **same)[0] == 200
        assert ask(server, "/theory", "POST", T1, **outside, Origin="http://example.com")[0] == 403
        server.shutdown()


@pytest.mark.parametrize("address", ["localhost", "1.2.3", "", "192.0.2.1"])
def test_an_address_that_this_machine_lacks_fails_with_one_line(page, address):
    with pytest.raises(lab.LabError, match=rf"^--listen {address}[:,].*(allowed|assign)") as error:
        lab.Server(page=page, listen=address)
    assert "\n" not in str(error.value)


def test_a_path_with_a_nul_is_no_file(server, capfd):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(f"GET /{server.token}/\0.js HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode())
        assert b"404" in connection.recv(1000)
    assert capfd.readouterr() == ("", "")


def test_an_incomplete_request_blocks_no_other(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow:
        head = f"POST /{server.token}/theory HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        slow.sendall(f"{head}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{".encode())
        slow.settimeout(0.2)
        with pytest.raises(TimeoutError):
            slow.recv(1)  # the server waits for the rest of the body
        assert ask(server, "/theory", "POST", T1)[0] == 200
        slow.settimeout(0.2)
        with pytest.raises(TimeoutError):
            slow.recv(1)  # the server still waits


def test_theory_prints_a_result_or_a_reason(server):
    status, content = ask(server, "/theory", "POST", T1)
    assert (status, json.loads(content)["stable"]) == (200, True)
    wrong = T1.replace("10 Mb/s", "10 apples")
    assert "not a rate" in json.loads(ask(server, "/theory", "POST", wrong)[1])["wrong"]
    silent = Scenario("n", "1 s").link("A", "B", "1 Mb/s", "1 ms", duplex=True).flow("x", "cbr", "A", "B")
    assert "no flow reacts" in json.loads(ask(server, "/theory", "POST", silent.to_json())[1])["wrong"]


def test_a_server_without_engine_or_port_fails_with_one_line(server, tmp_path):
    with pytest.raises(lab.LabError, match=r"engine\.wasm is missing; run `make lab`"):
        lab.Server(page=tmp_path)
    with pytest.raises(lab.LabError, match=r"--port \d+: address already in use"):
        lab.Server(server.port, server.page)


@pytest.fixture
def built():
    """Serves the page, or skips the test if the page is not built."""
    if not lab.ENGINE.is_file():
        lack(["node"], "the lab is not built: `make lab`")


def networks(number):
    """Yields random networks of at most 4 links and 6 flow entries: capacities, then routes with flow counts."""
    random = np.random.default_rng(1)
    for _ in range(number):
        links = random.integers(1, 5)
        routes = [
            random.choice(links, random.integers(1, links + 1), replace=False) for _ in range(random.integers(1, 7))
        ]
        yield random.uniform(1, 1e9, links), [(set(route.tolist()), int(random.integers(1, 50))) for route in routes]


@pytest.mark.needs("node")
def test_fair_rates_of_the_page_are_those_of_theory():
    found = list(networks(200))
    texts = [
        json.dumps(
            {"room": room.tolist(), "routes": [sorted(route) for route, _ in flows], "counts": [n for _, n in flows]}
        )
        for room, flows in found
    ]
    command = ["node", TESTS / "rates.mjs"]
    done = subprocess.run(command, input="\n".join(texts), capture_output=True, text=True, check=True, timeout=60)
    for (room, flows), line in zip(found, done.stdout.splitlines(), strict=True):
        counts = np.array([count for _, count in flows], dtype=float)
        expected = maxmin([sorted(route) for route, _ in flows], room, counts) / counts
        np.testing.assert_allclose(json.loads(line), expected, rtol=1e-6)


def changing():
    """Yields scenarios with changing or failing links, flows over several paths, or applications."""
    changes = [{"at": "2 s", "capacity": "2 Mb/s"}, {"at": "4 s", "over": "1 s", "capacity": "12 Mb/s"}]
    outage = [{"at": "3050 ms", "capacity": "0 b/s"}, {"at": "3500 ms", "capacity": "5 Mb/s"}]
    lines = Scenario("lines", "6 s").link("A", "B", "10 Mb/s", "5 ms", duplex=True, changes=changes)
    lines.link("B", "C", "8 Mb/s", "5 ms", duplex=True, changes=outage, buffer="50 packets")
    lines.flow("x", "level", "A", "C").flow("y", "level", "A", "B", count=3, start="1 s")
    yield lines.flow("call", "level", "B", "C", application={"rate": "200 kb/s"})
    paths = Scenario("paths", "6 s", routing="ecmp", reroute="100 ms")
    for middle, more in (("M", {}), ("N", {"changes": [{"at": "2 s", "down": True}, {"at": "4 s", "down": False}]})):
        paths.link("A", middle, "10 Mb/s", "5 ms", duplex=True, **more).link(middle, "B", "6 Mb/s", "5 ms", duplex=True)
    yield paths.flow("x", "level", "A", "B", count=5).flow("y", "level", "M", "B")


# **Invariant** (The lab): reference rates and queueing delays in the page equal those of reports, also while links
# change or fail and routes split.
@pytest.mark.needs("node")
@pytest.mark.parametrize("scenario", list(changing()), ids=lambda scenario: scenario.raw["name"])
def test_references_and_waits_of_the_page_follow_what_changes(scenario, tmp_path):
    scenario.run(out=tmp_path / "run")
    result = Result.load(tmp_path / "run")
    command = ["node", TESTS / "series.mjs"]
    stored = json.dumps(lab.read(tmp_path / "run"))
    done = subprocess.run(command, input=stored, capture_output=True, text=True, check=True, timeout=60)
    page = json.loads(done.stdout)
    resolved = result.scenario
    begins = sorted(
        {0.0}
        | {change["at_s"] for link in resolved["links"] for change in link["changes"]}
        | {plan["from_s"] for flow in resolved["flows"] for plan in flow.get("plans", ())}
    )
    delivered = dict(result.flows.group_by("flow").agg(pl.col("throughput_bps").mean()).iter_rows())
    sending = {i: delivered[flow["name"]] for i, flow in enumerate(resolved["flows"]) if flow["application"]}
    for sample, (t, rows) in enumerate(result.flows.group_by("t", maintain_order=True)):
        active = dict(rows.select(pl.col("flow").cast(pl.String), "active").iter_rows())
        now = in_force(resolved, max(begin for begin in begins if begin < t[0]))
        rates = reference(now, [active[flow["name"]] for flow in resolved["flows"]], sending).rates
        for flow, rate in zip(resolved["flows"], rates, strict=True):
            assert page["fair"][flow["name"]][sample] == (rate if rate is None else pytest.approx(rate, abs=1e-3)), t
    for name, waits in page["wait"].items():
        own = result.links.filter(pl.col("link").cast(pl.String) == name)
        expected = np.where(own["backlog_max_bytes"] == 0, 0.0, own["queueing_delay_max_s"].to_numpy())
        np.testing.assert_allclose(np.array(waits, dtype=float), expected, rtol=1e-9)


# **Invariant** (The lab): the engine behaves as each lesson states.
@pytest.mark.needs("node")
def test_lessons_say_what_the_engine_does(built):
    command = ["node", "--test", TESTS / "lessons.test.mjs"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


@pytest.fixture
def measured(tmp_path):
    """Returns a result in the format of `levelflow-net testbed`, with a throughput that no simulation gives."""
    path = tmp_path / "measured"
    T1_FILE.run(out=path)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest |= {"network": {"form": "kernel", "kernel": "6.1", "ipv6": False, "processors": 2, "scale": 1.0}}
    (path / "manifest.json").write_text(json.dumps(manifest))
    flows = pl.read_parquet(path / "flows.parquet")
    flows.with_columns(throughput_bps=pl.lit(1.23e6)).write_parquet(path / "flows.parquet")
    return path


def test_a_result_directory_is_read_to_the_bit(measured):
    stored = lab.read(measured)
    result = Result.load(measured)
    assert stored["network"]["form"] == "kernel"
    assert stored["scenario"] == json.loads(T1)
    for name in ("flows", "links"):
        columns = json.loads(json.dumps(stored["tables"][name]))
        entries = [entry["name"] for entry in stored["resolved"][name]]
        assert [entries[i] for i in columns[name[:-1]]] == getattr(result, name)[name[:-1]].to_list()
        for column in ("t", "law_rate_bps", "backlog_max_bytes"):
            if column in columns:
                assert columns[column] == getattr(result, name)[column].to_list()


def test_serving_something_other_than_a_result_fails_with_one_line(measured, page, tmp_path):
    with pytest.raises(lab.LabError, match="not a result directory"):
        lab.Server(page=page, stored=tmp_path)
    flows = pl.read_parquet(measured / "flows.parquet")
    flows.head(3).write_parquet(measured / "flows.parquet")
    with pytest.raises(lab.LabError, match="3 rows, not the same number for each of 2 flows"):
        lab.Server(page=page, stored=measured)
    (measured / "flows.parquet").write_text("no table")
    with pytest.raises(lab.LabError, match="the result is damaged") as error:
        lab.Server(page=page, stored=measured)
    assert "\n" not in str(error.value)


@pytest.mark.long
@pytest.mark.needs("node", "chromium")
def test_the_page_works_in_a_browser(built, measured):
    code = "import sys; from levelflow.cli import main; sys.argv = ['levelflow', 'lab', '--no-open']; main()"
    command = [sys.executable, "-uc", code]
    with (
        lab.Server(stored=measured) as opened,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
    ):
        Thread(target=opened.serve_forever, daemon=True).start()
        environment = os.environ | {"LAB_URL": process.stdout.readline().strip(), "STORED_URL": opened.url}
        command = [
            "node",
            "--test",
            "--test-concurrency=1",
            *(TESTS / f"{name}.test.mjs" for name in ("page", "editing", "teaching", "scenarios")),
        ]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        opened.shutdown()
    assert done.returncode == 0, done.stdout
