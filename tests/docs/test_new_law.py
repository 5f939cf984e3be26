"""Laws are added to a copy of the checkout by the steps of CONTRIBUTING.md; then the checks of CI pass.

One law has its own signalling, the other law uses an existing signalling.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools import CHECKOUT, reference

#: Model of the new law, and the name of the new law.
MODEL, NEW = "kelly", "novel"
#: Model of a second new law, and the name of this law. The law uses the signalling of its model.
SHARING_MODEL, SHARING = "rcp_weighted", "ranked"
PAGE = """# Novel

A law for a test only.

## When to choose it
Never.

## Equations
Those of Kelly.

## Equilibrium
That of Kelly.

## Picture
```sh
levelflow run joining --set flow.x1.law=novel --set flow.x2.law=novel
```

## Parameters
<!-- Written by `make gen` from here, -->
<!-- to here. -->
"""
#: Program that runs three laws with one signalling, and prints the signallings of the routers of each link direction.
ONE_ROUTER = """
from levelflow import Scenario
scenario = Scenario("three", "1 s").link("A", "B", "10 Mb/s", "10 ms", duplex=True)
for law in ("rcp", "rcp_weighted", "ranked"):
    scenario = scenario.flow(law, law, "A", "B")
print([sorted(link["laws"]) for link in scenario.resolve()["links"]])
"""
PAGES = {
    "docs/laws/novel.md",
    "docs/laws/ranked.md",
    "docs/laws/README.md",
    "docs/reference/wire-format.md",
    "python/levelflow/keywords.py",
}
#: Files with the Python tests that read the list of laws, or depend on the new law or on the files of the checkout.
ASKED = (
    *("docs/test_docs", "docs/test_crates", "theory/test_records", "theory/test_references", "theory/fluid/test_fluid"),
    *("cli/test_replay", "network/test_wireshark"),
)
CHOSEN = (
    "novel or ranked or each_law or each_picture or links or current or depend or cycles or invariants or guide_names"
)
#: Packages built without optimisation: to optimise them would take longer than their tests.
CRATES = ("units", "random", "laws", "wire", "transport", "scenario", "results", "sim", "py")
PLAIN = [word for crate in CRATES for word in ("--config", f"profile.dev.package.levelflow-{crate}.opt-level=0")]


def copy_checkout(to):
    """Copies the files in git. Cargo reuses its builds of an earlier copy in the same directory."""
    shutil.rmtree(to, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CHECKOUT / name, to / name, follow_symlinks=False)


def add_laws(checkout):
    """Adds the folders, the lines of registration and the pages."""
    laws = checkout / "crates" / "laws" / "src"
    numbers = {law["name"]: law["number"] for law in reference.on_the_wire()}
    shutil.copytree(laws / MODEL, laws / NEW)
    for path in (laws / NEW).iterdir():
        text = path.read_text(encoding="utf-8").replace(MODEL, NEW).replace(MODEL.title(), NEW.title())
        path.write_text(
            text.replace(f"number: {numbers[MODEL]}", f"number: {max(numbers.values()) + 1}"), encoding="utf-8"
        )
    registry = (laws / "lib.rs").read_text(encoding="utf-8")
    registry = registry.replace("pub mod offload;\n", "pub mod novel;\npub mod offload;\n")
    registry = registry.replace("pub mod rcp;\n", "pub mod ranked;\npub mod rcp;\n")
    registry = registry.replace("    ks => Ks,\n", "    ks => Ks,\n    novel => Novel,\n    ranked => Ranked,\n")
    registry = registry.replace(
        "    Abc => abc::Signals,\n", "    Abc => abc::Signals,\n    Novel => novel::Signals,\n"
    )
    (laws / "lib.rs").write_text(registry, encoding="utf-8")
    (checkout / "docs" / "laws" / "ranked.md").write_text(
        PAGE.replace("novel", SHARING).replace("Novel", "Ranked"), encoding="utf-8"
    )
    shutil.copytree(laws / SHARING_MODEL, laws / SHARING)
    for path in (laws / SHARING).iterdir():
        text = path.read_text(encoding="utf-8").replace(SHARING_MODEL, SHARING).replace("RcpWeighted", "Ranked")
        path.write_text(text, encoding="utf-8")
    (checkout / "docs" / "laws" / "novel.md").write_text(PAGE, encoding="utf-8")


# **Invariant** (Laws): a new law needs a folder, two lines and a page, and a third line for a new signalling. Laws with
# one signalling share one router per link. See `a_link_has_one_router_for_both_laws`,
# `two_laws_share_a_relay_in_proportion_to_their_weights`, `two_laws_share_a_router_in_the_kernel`.
@pytest.mark.needs("cargo")
@pytest.mark.full
def test_a_law_is_a_folder_a_few_lines_and_a_page():
    target = Path(os.environ.get("CARGO_TARGET_DIR", CHECKOUT / "target"))
    copy = target / "new-law"
    copy_checkout(copy)
    add_laws(copy)
    environment = os.environ | {"CARGO_TARGET_DIR": str(target), "PYTHONPATH": str(copy / "python")}

    def run(*command):
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=1200, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
        return done.stdout

    run("git", "init", "--quiet")
    run("git", "add", "--all")
    run("cargo", "fmt", "--all", "--check")
    run("cargo", "clippy", *PLAIN, "-p", "levelflow-laws", "--all-targets", "--", "-D", "warnings")
    tested = run("cargo", "test", *PLAIN, "-p", "levelflow-laws", NEW)
    assert "laws_conform::novel::headers_survive_the_wire ... ok" in tested
    tested = run("cargo", "test", *PLAIN, "-p", "levelflow-laws", SHARING)
    assert "laws_conform::ranked::a_replayed_sender_ends_in_the_same_state ... ok" in tested
    run("cargo", "build", *PLAIN, "-p", "levelflow-py", "--features", "extension-module")
    built = target / "debug" / ("lib_core.dylib" if sys.platform == "darwin" else "lib_core.so")
    shutil.copy(built, copy / "python" / "levelflow" / "_core.abi3.so")
    assert run(sys.executable, "-c", ONE_ROUTER) == "[['rcp'], []]\n"
    run(sys.executable, "-m", "tools.reference")
    written = set(run("git", "diff", "--name-only").split())
    assert written == {*PAGES, str(reference.DISSECTOR.relative_to(CHECKOUT))}
    files = [f"tests/{name}.py" for name in ASKED]
    run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *files, "-k", CHOSEN)
    run(sys.executable, "tools/check_words.py")
