"""Dependencies of crates match ARCHITECTURE.md, and dependencies of crates and files have no cycles."""

import re
import tomllib
from functools import cache

import pytest
from tools import CHECKOUT

MANIFESTS = [path for group in ("crates/*", "apps/*", "benches") for path in CHECKOUT.glob(f"{group}/Cargo.toml")]
# Allowed cycles of files. A cycle connects two files of one module, or a trait, its list of types and the test suite of
# each type.
CYCLES = {
    frozenset({"units::data", "units::rate"}),
    frozenset({"units::parse", "units::print"}),
    frozenset({"laws::", "laws::conformance", "laws::conformance::scale", "laws::registry"}),
    frozenset({"laws::aqm", "laws::aqm::conformance", "laws::aqm::registry"}),
    frozenset({"laws::buffers", "laws::buffers::conformance", "laws::buffers::registry"}),
    frozenset({"sim::engine", "sim::engine::memory"}),
    frozenset({"benches::", "benches::buffer", "benches::intervals", "benches::kernel", "benches::relay"}),
}


def manifest(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def drawn():
    """Returns the allowed dependencies of each crate, by crate name, from the drawing in ARCHITECTURE.md."""
    text = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = re.search(r"^## Dependencies\n.*?```\n(.*?)```", text, re.DOTALL | re.MULTILINE)[1].splitlines()
    return {name: set(needs.split()) for name, needs in (row.split("<-") for row in rows) for name in [name.strip()]}


# **Invariant** (Dependencies): the manifests of the crates have exactly the dependencies drawn in ARCHITECTURE.md.
# `laws` depends only on `units` and `libm`.
def test_crates_depend_one_way():
    above = list(drawn())
    for name, needs in drawn().items():
        assert needs <= set(above[: above.index(name)]), f"{name} stands above what it needs"
    found = {}
    for path in MANIFESTS:
        crate = manifest(path)
        needed = {need.removeprefix("levelflow-") for need in crate["dependencies"] if need.startswith("levelflow-")}
        found[crate["package"]["name"].removeprefix("levelflow-")] = needed
    assert found == drawn()
    laws = manifest(CHECKOUT / "crates/laws/Cargo.toml")
    assert list(laws["dependencies"]) == ["levelflow-units", "libm"]


def product(path):
    """Returns the text of a file without its comments and tests."""
    text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
    return text.split("#[cfg(test)]\nmod tests {")[0]


def modules(source):
    """Returns the text of each module, by module path after `crate::`."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" in parts:
            continue
        parts = parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts
        found["::".join(parts)] = found.get("::".join(parts), "") + product(path)
    return found


def paths(tree):
    """Returns the paths in a use tree: `a::b` and `a::c::d` in `a::{b, c::{d}}`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.split(" as ")[0].strip()]
    depth, parts, part = 0, [], ""
    for letter in rest[: rest.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts, part = [*parts, part], ""
        else:
            part += letter
    return [head.strip() + path for each in [*parts, part] if each.strip() for path in paths(each.strip())]


def absolute(path, module):
    """Returns a path relative to the crate root; None for an item outside the crate."""
    first, _, rest = path.partition("::")
    if first == "crate":
        return rest
    place = module.split("::") if module else []
    if first == "self":
        return "::".join([*place, rest])
    if first != "super":
        return None
    while path.startswith("super::"):
        path, place = path.removeprefix("super::"), place[:-1]
    return "::".join([*place, path])


def needs(module, texts):
    """Returns the modules of the same crate whose items a module names."""
    text = texts[module]
    used = [
        path for tree in re.findall(r"^\s*(?:pub(?:\([a-z]+\))? )?use ([^;]+);", text, re.M) for path in paths(tree)
    ]
    plain = re.sub(r"^\s*(?:pub(?:\([a-z]+\))? )?use [^;]+;", "", text, flags=re.M)
    used += re.findall(r"(?<![\w:$])((?:crate|super|self)(?:::\w+)+)", plain)
    own = {name.rpartition("::")[2]: name for name in texts if name and name.rpartition("::")[0] == module}
    used += [f"self::{path}" for path in re.findall(r"(?<![\w:])(\w+(?:::\w+)+)", plain) if path.split("::")[0] in own]
    found = set()
    for path in used:
        if (target := absolute(path, module)) is not None:
            found.add(home(target, texts))
    return found - {module}


def home(target, texts):
    """Returns the module that defines an item, following re-exports."""
    parts = target.split("::")
    while parts and "::".join(parts) not in texts:
        parts = parts[:-1]
    module = "::".join(parts)
    item = target.removeprefix(module).strip(":").partition("::")[0]
    for tree in re.findall(r"^pub(?:\([a-z]+\))? use ([^;]+);", texts[module], re.MULTILINE):
        for path in paths(tree):
            names = path.removeprefix("self::").removeprefix("crate::")
            if item and names.endswith(f"::{item}"):
                inside = names if not module or path.startswith("crate::") else f"{module}::{names}"
                return home(inside, texts)
    return module


def reexports(text):
    return re.sub(r"^pub(?:\([a-z]+\))? use [^;]+;", "", text, flags=re.MULTILINE)


def cycles(arrows):
    """Returns cycles, as groups of at least two nodes that are mutually reachable."""
    reach = {node: set(targets) for node, targets in arrows.items()}
    for middle, beyond in reach.items():
        for others in reach.values():
            others.update(beyond if middle in others else ())
    groups = {frozenset(other for other in reach[node] if node in reach[other]) for node in reach}
    return {group for group in groups if len(group) > 1}


def file_cycles(source):
    texts = modules(source)
    plain = {module: reexports(text) for module, text in texts.items()}
    return cycles({module: needs_of(module, texts, plain) for module in texts})


def needs_of(module, texts, plain):
    return needs(module, {**texts, module: plain[module]})


# **Invariant** (Dependencies): the imports between the files of a crate have no cycles. The test lists the exceptions.
@pytest.mark.parametrize("crate", sorted(path.parent for path in MANIFESTS), ids=lambda path: path.name)
def test_imports_within_a_crate_have_no_cycles(crate):
    found = {frozenset(f"{crate.name}::{name}" for name in group) for group in file_cycles(crate / "src")}
    assert found == {group for group in CYCLES if next(iter(group)).startswith(f"{crate.name}::")}


def test_crates_take_the_lints_of_the_workspace():
    fuzz = CHECKOUT / "fuzz" / "Cargo.toml"
    assert [path for path in [*MANIFESTS, fuzz] if manifest(path).get("lints") != {"workspace": True}] == []


def test_four_files_alone_have_unsafe_code():
    files = [path for group in ("crates", "apps", "benches", "fuzz") for path in (CHECKOUT / group).rglob("*.rs")]
    lifted = re.compile(r"(?:allow|expect)\s*\(\s*unsafe_code")
    found = [path.relative_to(CHECKOUT) for path in files if lifted.search(path.read_text(encoding="utf-8"))]
    allowed = ["apps/lab/src/exports.rs", "crates/host/src/sys.rs", "crates/sim/src/prefetch.rs"]
    tested = ["crates/host/src/privileges.rs"]  # its tests make system calls that must fail
    assert sorted(map(str, found)) == sorted(allowed + tested)
