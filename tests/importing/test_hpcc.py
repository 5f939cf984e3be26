"""Import of HPCC's files, and export of completion times in its format."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_htsim import EDITS, complaint

from levelflow import Result, ScenarioError, cli
from levelflow.importing import build, fct

TOPOLOGY = """6 2 5
4 5
0 4 25Gbps 1000ns 0.000000
1 4 25Gbps 0.001ms 0.01
2 5 25Gbps 1us 0
5 3 25Gbps 1us 0
4 5 100Gbps 2us 0
"""
FLOWS = """2
0 3 3 100 200000 0.5
1 2 3 100 5000 0.500000001
2 1 3 100 5000 2
"""
CONFIG = """PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE mix/topology.txt
FLOW_FILE mix/flow.txt {input file}
TRACE_FILE mix/trace.txt
FCT_OUTPUT_FILE mix/fct.txt
SIMULATOR_STOP_TIME 0.51
CC_MODE 8
RATE_AI 50Mb/s
BUFFER_SIZE 32
LINK_DOWN 0 0 0
KMAX_MAP 2 25000000000 400 100000000000 1600
KMIN_MAP 2 25000000000 100 100000000000 400
PMAX_MAP 2 25000000000 0.2 100000000000 0.2
"""


def files(folder, topology=TOPOLOGY, flows=FLOWS, config=CONFIG):
    mix = folder / "mix"
    mix.mkdir(exist_ok=True)
    for name, text in (("topology", topology), ("flow", flows), ("config", config), ("trace", "2\n0 1\n")):
        (mix / f"{name}.txt").write_text(text, encoding="utf-8")
    return mix / "config.txt"


def imported(folder, **texts):
    made = build.read([files(folder, **texts)], folder=folder)
    made.scenario.origin = str(folder / "flow.toml")
    return made


def test_a_configuration_names_the_other_files(tmp_path):
    made = imported(tmp_path)
    resolved = made.scenario.resolve()
    assert resolved["duration_s"] == pytest.approx(0.51)
    links = {link["name"]: link for link in resolved["links"]}
    assert len(links) == 10
    assert (links["s4->s5"]["capacity_bps"], links["s4->s5"]["delay_s"]) == (100e9, 2e-6)
    assert links["s5->h3"]["delay_s"] == 1e-6
    raw = {(link["from"], link["to"]): link for link in made.scenario.raw["link"]}
    assert raw["h1", "s4"]["loss"] == 0.01
    red = raw["s4", "s5"]["queue"]["red"]
    # KMIN 400 kB and KMAX 1600 kB in packets of 1048 B, at the rate of the link.
    assert (red["min"], red["max"], red["max_p"]) == ("382 packets", "1527 packets", 0.2)
    assert raw["h0", "s4"]["reverse"]["queue"]["red"]["min"] == "95 packets"
    assert "queue" not in raw["h0", "s4"]
    assert [line for line in made.notes if "RATE_AI" in line] == ["not carried over: RATE_AI 50Mb/s"]
    assert "not carried over: 1 lines after the 2 flows of the first line, as in HPCC" in made.notes


def test_completion_times_have_the_format_of_hpcc(tmp_path, capfd):
    result = imported(tmp_path).scenario.run(tmp_path / "r")
    rows = [line.split() for line in fct.text(result).splitlines()]
    # Node n has the address 11.(n / 256).(n % 256).1, and the flows of a pair have the ports 10000, 10001, ...
    assert [row[:5] for row in rows] == [
        ["0b000101", "0b000201", "10000", "100", "5000"],
        ["0b000001", "0b000301", "10000", "100", "200000"],
    ]
    assert [row[5] for row in rows] == ["500000001", "500000000"]
    # fct_analysis.py: slowdown is column 7 over column 8.
    slowdown = dict(result.transfers.select("bytes", "slowdown").iter_rows())
    for row in rows:
        assert int(row[6]) / int(row[7]) == pytest.approx(slowdown[int(row[4])], rel=1e-3)
    with pytest.raises(SystemExit):
        cli.app(["export", str(tmp_path / "r")], "levelflow")
    assert (tmp_path / "r" / "fct.txt").read_text(encoding="utf-8") == fct.text(Result.load(tmp_path / "r"))
    assert "2 transfers" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("changed", "old", "new", "words"),
    [
        ("topology", "6 2 5", "6 2 6", "topology.txt, line 8: the file ends before source of link 6 of 6"),
        ("topology", "4 5\n", "4 6\n", "topology.txt, line 2: switch is (not shown); allowed: 0 to 5"),
        ("topology", "0 4 25Gbps", "0 0 25Gbps", "line 3: node 0 is linked to itself"),
        ("topology", "100Gbps", "100", "line 7: rate is (not shown); allowed: a number with its unit, as in 100Gbps"),
        ("topology", "2us", "2h", "line 7: delay is (not shown); allowed: a number with its unit, as in 1000ns"),
        ("topology", "0.01", "1.5", "line 4: error rate is 1.5; allowed: 0 to less than 1"),
        ("flows", "2\n0 3", "9\n0 3", "flow.txt: the first line promises 9 flows, but the file has 3"),
        ("flows", "0 3 3", "0 4 3", "line 2: node 4 is a switch; flows need hosts"),
        ("flows", "0 3 3", "0 9 3", "line 2: node 9 does not exist; allowed: 0 to 5"),
        ("flows", "0 3 3", "0 0 3", "line 2: host 0 cannot send to itself"),
        ("flows", "200000", "0", "line 2: bytes is (not shown)"),
        ("flows", "100 200000", "200000", "line 2: a flow needs 6 values"),
        ("flows", "0.5\n", "-1\n", "line 2: start is (not shown); allowed: a number, at least 0"),
        ("config", "RATE_AI", "RATE_AJ", "config.txt, line 8: unknown key 'RATE_AJ'; did you mean 'RATE_AI'?"),
        ("config", "CC_MODE 8", "CC_MODE 4", "line 7: CC_MODE is '4'; allowed: 1, 3, 7, 8, 10"),
        ("config", "CC_MODE 8", "CC_MODE", "line 7: CC_MODE needs a value"),
        ("config", "mix/flow.txt", "mix/flows.txt", "line 3: FLOW_FILE: 'mix/flows.txt' does not exist"),
        ("config", "LINK_DOWN 0 0 0", "LINK_DOWN 5 0 4", "line 10: LINK_DOWN is not supported"),
        ("config", "KMIN_MAP 2", "KMIN_MAP 3", "line 12: KMIN_MAP needs 3 pairs of rate and value"),
        ("config", "100000000000 400\n", "40000000000 400\n", "line 12: rate 40000000000 needs values in KMAX_MAP"),
        ("config", "KMIN_MAP 2 25000000000 100 1", "KMIN_MAP 2 25000000000 500 1", "with KMIN up to KMAX"),
    ],
)
def test_mistakes_have_one_line(tmp_path, changed, old, new, words):
    text = {"topology": TOPOLOGY, "flows": FLOWS, "config": CONFIG}[changed]
    assert old in text
    with pytest.raises(ScenarioError) as error:
        imported(tmp_path, **{changed: text.replace(old, new, 1)})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_rate_without_thresholds_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="s4->s5 has 50 Gb/s, and KMIN_MAP has no thresholds for this rate"):
        imported(tmp_path, topology=TOPOLOGY.replace("100Gbps", "50Gbps"))


@given(st.tuples(EDITS, EDITS, EDITS))
def test_changed_files_are_read_or_refused_in_one_line(tmp_path_factory, edits):
    texts = []
    for text, (at, length, new) in zip((TOPOLOGY, FLOWS, CONFIG), edits, strict=True):
        place = int(at * len(text))
        texts.append(text[:place] + new + text[place + length :])
    folder = tmp_path_factory.mktemp("edited")
    line = complaint([files(folder, *texts)])
    assert line is None or re.fullmatch(rf"{re.escape(str(folder))}/mix/\w+\.txt(, line \d+)?: .+", line)
