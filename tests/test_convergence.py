import json

from tools import convergence


def test_level_settles_where_bottlenecks_hang_on_each_other(capsys, tmp_path):
    file = tmp_path / "outcomes.json"
    words = ["level", "--family", "chain", "--networks", "2", "--seconds", "40", "--json", str(file)]
    assert convergence.main(words) == 0
    row = capsys.readouterr().out.splitlines()[2]
    assert row.startswith("| chain | level | 2 of 2 |")
    for one in json.loads(file.read_text()):
        assert one["worst"] < 0.02
        assert one["drops"] == 0


def test_a_network_is_the_same_for_all_laws():
    drawn = [convergence.network("tree", 3, law, 10.0).raw for law in ("level", "jetmax")]
    assert drawn[0]["link"] == drawn[1]["link"]
    ends = [[(flow["from"], flow["to"]) for flow in raw["flow"]] for raw in drawn]
    assert ends[0] == ends[1]
