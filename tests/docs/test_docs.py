"""Documents: commands and code in them run, and references and links are current."""

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_imports import imported
from tools import CHECKOUT, reference
from tools.verdicts import RECORD

from levelflow import Scenario, library
from levelflow.cli import app
from levelflow.reproduce.model import PRINTED
from levelflow.reproduce.report import SAYS
from levelflow.results import TABLES

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(.*?)(?=^```|\Z)", re.MULTILINE | re.DOTALL)
#: Pages tested elsewhere: code that runs within a figure, and commands that need root (`test_real_network.py`).
ELSEWHERE = {"docs/guides/add-a-figure.md", "docs/guides/two-namespaces.md"}
RUNS = {"sh", "console", "python", "toml"}


def blocks(page):
    """Returns the code blocks that have a language, each as language, text, and the prose up to the next block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def documents():
    pages = [CHECKOUT / "README.md", *sorted(CHECKOUT.glob("docs/[!lr]*/*.md"))]  # all pages except laws and reference
    names = [str(page.relative_to(CHECKOUT)) for page in pages if RUNS & {block[0] for block in blocks(page)}]
    return [name for name in names if name not in ELSEWHERE]


UNTRACKED = {".venv", "node_modules", "target", "results"}
PAGES = [
    path
    for path in (*CHECKOUT.rglob("*.md"), *CHECKOUT.rglob("*.ipynb"))
    if not UNTRACKED & set(path.relative_to(CHECKOUT).parts)
]
LAWS = sorted(path for path in reference.LAWS.glob("*.md") if path.stem != "README")
FILE = re.compile(r"# (\S+\.(?:toml|py))\n")
#: Expected value in a comment; text after a colon explains the value.
VALUE = re.compile(r"  # ((?:[\[\d]|True|False).*)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")


#: Page of the hosting service for private reports, as a path relative to a page of the repository.
REPORT = "../../security/advisories/new"


def run(levelflow, line):
    words = shlex.split(line, comments=True)
    if words[0] == "levelflow":
        return levelflow(*words[1:])
    assert line == "make demo"
    return levelflow("demo")


def check_console(levelflow, text):
    """Runs the command after each `$ ` and verifies that its output contains the lines below the command."""
    for shown in text.split("$ ")[1:]:
        line, *expected = shown.splitlines()
        done = run(levelflow, line)
        assert done.returncode == (2 if expected[0].startswith("levelflow: ") else 0), done.stderr
        printed = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        assert [line for line in expected if line not in printed] == [], f"{line}\n{done.stdout}"


def check_fragment(text):
    """Completes a part of a scenario and simulates it for 200 ms."""
    part = tomllib.loads(text)
    part.pop("lesson", None)  # only the lab reads this table
    raw = {
        "name": "fragment",
        "link": [{"from": "R1", "to": "R2", "capacity": "10 Mb/s", "delay": "10 ms", "duplex": True}],
        "flow": [{"name": "x", "law": "jetmax", "from": "R1", "to": "R2"}],
    } | part
    scenario = Scenario(**{"duration": "1 s", **raw})
    scenario.set("duration", "200 ms").run()


def check_python(text, prose, document, names):
    """Runs code and compares its output with the comments on its lines, or with the lines quoted in the prose."""
    printed = []

    def record(*values):
        printed.append((sys._getframe(1).f_lineno, " ".join(map(str, values))))

    names["print"] = record
    exec(compile(text, document, "exec"), names)
    for number, line in enumerate(text.splitlines(), 1):
        if "print(" in line and (shown := VALUE.search(line)):
            found = ", ".join(" ".join(words.split()) for at, words in printed if at == number)
            assert f"{' '.join(shown[1].split())}:".startswith(f"{found}:"), f"{document}: {line}\n{found}"
    if "rints" in prose and (shown := re.search(r"^(?: {4}.*\n)+", prose, re.MULTILINE)):
        assert [line.strip() for line in shown[0].splitlines()] == [words for _, words in printed], document


@pytest.mark.parametrize("document", documents())
def test_commands_and_code_in_the_documents_run(document, levelflow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    names = {}
    for language, text, prose in blocks(CHECKOUT / document):
        if language == "sh":
            for line in text.splitlines():
                done = run(levelflow, line)
                assert done.returncode == 0, f"{line}\n{done.stderr}"
        elif language == "console":
            check_console(levelflow, text)
        elif language == "toml" and (file := FILE.match(text)):
            Path(file[1]).write_text(text, encoding="utf-8")
            Scenario.load(file[1]).resolve()
        elif language == "toml":
            check_fragment(text)
        elif language == "python" and (file := FILE.match(text)):
            Path(file[1]).write_text(text, encoding="utf-8")
        elif language == "python":
            check_python(text, prose, document, names)


@pytest.mark.parametrize("page", LAWS, ids=lambda path: path.stem)
def test_the_command_on_the_page_of_a_law_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    [(language, line, _)] = blocks(page)
    assert language == "sh"
    done = CliRunner().invoke(app, [*shlex.split(line)[1:], "--no-plots"])
    assert done.exit_code == 0, done.output


def test_each_law_has_a_page_and_each_picture_a_law():
    names = sorted(law["name"] for law in library.laws())
    assert [page.stem for page in LAWS] == names
    assert {picture.stem for picture in reference.LAWS.glob("img/*")} <= set(names)


@pytest.mark.parametrize("page", LAWS, ids=lambda path: path.stem)
def test_a_law_is_explained_in_a_minute(page):
    first, *later = re.split(r"^## (?=Picture)", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert later
    assert re.findall("^## (.*)", first, flags=re.MULTILINE) == ["When to choose it", "Equations", "Equilibrium"]
    assert len(re.sub(r"^\|.*", "", first, flags=re.MULTILINE).split()) <= 200


def test_pages_of_laws_name_claims_that_exist():
    text = "".join(page.read_text(encoding="utf-8") for page in LAWS)
    named = " ".join(re.findall(r"`levelflow reproduce ([^`]+)`", text)).split()
    assert set(named) <= {row[0] for row in library.claims()[2]}


@pytest.mark.parametrize(("table", "listing"), [("link", library.buffers), ("flow", library.traffic)])
def test_names_in_levelflow_list_are_accepted(table, listing):
    for shown, *_ in listing()[2]:
        scenario = Scenario("shown", "1 s").link("R1", "R2", "10 Mb/s", "10 ms", duplex=True)
        scenario.flow("x", "rcp", "R1", "R2").raw[table][0].update(tomllib.loads(f"keys = {{ {shown} }}")["keys"])
        scenario.resolve()


def test_the_guide_names_every_column_of_a_result(finished):
    guide = (CHECKOUT / "docs" / "guides" / "results.md").read_text(encoding="utf-8")
    for name in TABLES:
        section = guide.split(f"\n## `{name}`\n")[1].split("\n## ")[0]
        cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
        documented = {column for cell in cells for column in re.findall(r"`(\w+)`", cell)}
        assert documented == set(getattr(finished, name).columns), f"docs/guides/results.md: section `{name}`"


def test_reference_pages_are_current():
    for page, text in reference.pages().items():
        assert page.read_text(encoding="utf-8") == text, f"{page}: run `make gen`"


def test_files_on_the_map_exist():
    text = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w/<>.])[a-z]\w+\.(?:rs|py|h)\b", text))
    found = {
        path.name
        for folder in ("crates", "apps", "python", "papers", "tools", "experiments")
        for path in (CHECKOUT / folder).rglob("*")
    }
    assert named - found == set()


def test_the_numbers_of_the_papers_add_up_on_their_page():
    text = (CHECKOUT / "docs/validation/reproduce.md").read_text(encoding="utf-8")
    block = next(part for part in text.split("```") if "checks   " in part and "reproduced" in part)
    head, *lines = [re.split(r"\s{2,}", line.strip()) for line in block.splitlines()[1:] if line.strip()]
    counts = {name: Counter(dict(zip(head[1:], map(int, numbers), strict=True))) for name, *numbers in lines if numbers}
    bases, papers = Counter(), Counter()
    for path in sorted((CHECKOUT / "papers").glob("*/*/claim.toml")):
        for check in (check for entry in entries(path) for check in entry["check"]):
            basis = check.get("basis", PRINTED)
            bases[SAYS[basis]] += 1
            papers[path.parts[-3]] += basis == PRINTED
    assert {name: counts[name].total() for name in bases} == bases
    assert {name: counts[name].total() for name in papers} == papers
    printed = counts[SAYS[PRINTED]]
    assert sum((counts[name] for name in papers), Counter()) == printed
    assert not printed["error"]
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))["quick"]["counts"]
    assert {says: Counter(count) for says, count in recorded.items()} == {
        says: +(counts[says] - Counter(missing=counts[says]["missing"])) for says in recorded
    }
    said = re.search(
        r"(\d+) statements.*?\*\*(\d+) are reproduced, (\d+) are errors.*?(\d+) are undecidable.*?(\d+) are \[not.*?"
        r"(\d+) need",
        text,
        re.DOTALL,
    )
    errors = printed["corrected"] + printed["refuted"]
    expected = [printed["reproduced"], errors, printed["undecidable"], printed["not reproduced"], printed["missing"]]
    assert [int(number) for number in said.groups()] == [sum(expected), *expected]
    first = re.search(r"(\d+) statements.*?(\d+) are reproduced, and (\d+) are", readme(), re.DOTALL)
    assert [int(number) for number in first.groups()] == [sum(expected), *expected[:2]]


def readme():
    return (CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short():
    assert len(readme().split()) <= 900


def test_numbers_of_the_testbed_in_the_readme_are_those_of_the_guide():
    guide = (CHECKOUT / "docs/guides/testbed.md").read_text(encoding="utf-8")
    for name, law in (("Level", "level"), ("Linux CUBIC", "cubic"), ("Linux BBR", "bbr")):
        throughput, index, delay, loss = re.search(rf"^\| {name} \|(.*)\|$", readme(), re.MULTILINE)[1].split("|")
        rows = [line for line in guide.splitlines() if re.search(rf"\| (?:kernel, )?`{law}` \| \d+\.\d+ Mb/s", line)]
        assert len(rows) == 1
        shown = [cell.strip() for cell in rows[0].split("|")[2:-1]]
        assert [throughput.strip(), index.strip()] == [shown[0], shown[1]]
        assert float(delay.split()[0]) == round(float(shown[3].split()[0]))
        assert float(loss.split()[0]) == round(float(shown[4].split()[0]), 1)


def entries(claim):
    return tomllib.loads(claim.read_text(encoding="utf-8"))["entry"]


def test_invariants_name_tests_that_exist():
    sources = [*CHECKOUT.glob("crates/**/*.rs"), *CHECKOUT.glob("apps/**/*.rs"), *CHECKOUT.glob("tests/**/*.py")]
    known = set(re.findall(r"\b(?:fn|def) (\w+)", "".join(path.read_text(encoding="utf-8") for path in sources)))
    found = list(reference.invariants())
    assert len(found) > 70
    for section, text, tests in found:
        assert f"## {section}\n" in (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8"), section
        assert text.endswith("."), text
        assert set(tests) <= known, f"no such test: {set(tests) - known}"
    page = (CHECKOUT / "docs/reference/wire-format.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z0-9]+_){3,}[a-z0-9]+)`", page.partition("Further attacks")[2]))
    assert len(named) > 20
    assert named <= known, f"no such test: {named - known}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_links_lead_somewhere(page):
    targets = [to for to in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in to and to != REPORT]
    assert [to for to in targets if not (page.parent / to).exists()] == []


# **Invariant** (Dependencies): imports in `levelflow.theory` have no cycles. Methods do not import laws, and laws do
# not import modules that build on laws. No module imports the command line.
def test_theory_depends_one_way():
    theory = CHECKOUT / "python/levelflow/theory"
    needed = {}
    for path in theory.glob("**/[!_]*.py"):
        name = "levelflow.theory." + ".".join(path.relative_to(theory).with_suffix("").parts)
        found = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
        needed[name] = {f"{node.module}.{alias.name}" for node in found for alias in node.names}
        needed[name] |= {str(node.module) for node in found}
    inside = {name: names & set(needed) for name, names in needed.items()}
    TopologicalSorter(inside).prepare()  # raises if there is a cycle
    places = {"record": 1, "laws": 2, "fluid": 3, "references": 3, "check": 4, "pictures": 5}
    for name, names in inside.items():
        assert all(places.get(other.split(".")[2], 0) <= places.get(name.split(".")[2], 0) for other in names), name
        assert not any(other.startswith("levelflow.cli") for other in needed[name]), name


LAYERS = (
    {"_core", "files", "keywords", "law", "picture", "records", "sources", "status", "style", "words"},
    {"theory"},
    {"measure"},
    {"rundata", "summary"},
    {"report"},
    {"capture", "cdf", "dataplane", "importing", "lawfile", "laws", "library", "results", "running", "scenario"}
    | {"topology", "workers"},
    {"buffers", "convergence", "study", "testing"},
    {"reproduce", "lab"},
    {"cli"},
)


# **Invariant** (Dependencies): Python packages import only packages to their left: `theory` <- `measure` <- `report` <-
# the public modules <- `buffers`, `convergence`, `study` <- `reproduce` <- `cli`. No package imports `tools`,
# `experiments` or a model of a paper.
def test_packages_depend_one_way():
    place = {name: number for number, names in enumerate(LAYERS) for name in names}
    package = CHECKOUT / "python" / "levelflow"
    for path in package.glob("**/*.py"):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        if part == "__init__":  # public names, imported on first use from the module that defines them
            continue
        needed = set(imported(path))
        ours = {name.split(".")[1] for name in needed if name.startswith("levelflow.")}
        outside = {"tools", "experiments", "papers"}
        assert not {name for name in needed if name.split(".")[0] in outside or "_models" in name}, path
        upwards = {other for other in ours & set(place) if place[other] > place[part]}
        assert not upwards, f"{path}: {part} stands below {upwards}"


# **Invariant** (Dependencies): `levelflow.theory` works without the compiled module.
def test_theory_needs_no_compiled_code():
    package = CHECKOUT / "python"
    paths = [path.relative_to(package) for path in package.glob("levelflow/theory/**/[!_]*.py")]
    modules = [".".join(path.with_suffix("").parts) for path in paths]
    code = f"import sys; sys.modules['levelflow._core'] = None; import {', '.join(modules)}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# **Invariant** (Theory): importing theory imports neither SciPy nor networkx.
def test_to_import_theory_imports_neither_scipy_nor_networkx():
    package = CHECKOUT / "python"
    paths = [path.relative_to(package) for path in package.glob("levelflow/theory/**/[!_]*.py")]
    modules = [".".join(path.with_suffix("").parts) for path in paths if "pictures" not in path.parts]
    code = f"import sys; import {', '.join(modules)}; sys.exit(str({{'scipy', 'networkx'}} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=60, capture_output=True, text=True)
    assert done.stderr.strip() == ""


def test_nothing_that_git_ignores_is_tracked():
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    done = subprocess.run(listed, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_commands_of_tools_and_experiments_in_documents_exist():
    texts = [path.read_text(encoding="utf-8") for path in (CHECKOUT / "Makefile", *CHECKOUT.glob("docs/*/*.md"))]
    named = set(re.findall(r"python -m\s(tools|experiments)\.(\w+)", "".join(texts)))
    files = [*CHECKOUT.glob("tools/*.py"), *CHECKOUT.glob("experiments/*.py")]
    programs = {(path.parent.name, path.stem) for path in files if "__main__" in path.read_text(encoding="utf-8")}
    programs |= {("experiments", path.parent.name) for path in CHECKOUT.glob("experiments/*/__main__.py")}
    assert named <= programs
    assert named >= {("tools", "bench"), ("experiments", "peers")}
