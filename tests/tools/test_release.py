"""The release: complete source distribution, absolute links, names of metrics, pinned actions and packages."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib

import pytest
from tools import CHECKOUT, release

WORKFLOWS = sorted(CHECKOUT.glob(".github/workflows/*.yml"))
PACKAGING = CHECKOUT / "packaging"


def tracked(*folders):
    listed = subprocess.run(["git", "ls-files", *folders], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return listed.stdout.split()


def test_a_source_distribution_has_papers_and_scenarios(tmp_path):
    build = [sys.executable, "-m", "maturin", "sdist", "--out", tmp_path]
    subprocess.run(build, cwd=CHECKOUT, check=True, timeout=120, capture_output=True)
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {f"python/levelflow/{name}" for name in tracked("papers", "scenarios")}
    assert wanted - names == set()
    assert {name for name in tracked("crates/laws/src", "crates/sim/src") if name.endswith(".rs")} - names == set()


def test_links_of_the_long_description_are_absolute():
    address = "https://example.org/owner/name"
    text = release.absolute((CHECKOUT / "README.md").read_text(encoding="utf-8"), address)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 20
    assert {to for to in targets if not to.startswith(("https://", "#"))} == set()
    assert f"{address}/raw/v{release.version()}/docs/images/four-laws.png" in targets
    assert f"{address}/blob/v{release.version()}/docs/start/install.md" in targets


def test_notes_are_the_section_of_the_version():
    notes = release.notes()
    assert notes.startswith("The first release.")
    assert "\n## " not in notes


def test_a_prepared_checkout_has_the_address(tmp_path):
    for name in tracked(
        "README.md", "CHANGELOG.md", "CITATION.cff", "*.toml", "packaging", "tools", "apps/net/README.md"
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if not (CHECKOUT / name).is_symlink():
            shutil.copyfile(CHECKOUT / name, tmp_path / name)
    command = [sys.executable, "tools/release.py", "https://example.org/owner/name", "2027-01-02"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    for name in ("pyproject.toml", "apps/net/pyproject.toml"):
        project = tomllib.loads((tmp_path / name).read_text(encoding="utf-8"))["project"]
        assert project["urls"]["Source"] == "https://example.org/owner/name"
    for crate in release.CRATES:
        package = tomllib.loads((tmp_path / "crates" / crate / "Cargo.toml").read_text(encoding="utf-8"))["package"]
        assert package["repository"] == "https://example.org/owner/name"
    assert 'date-released: "2027-01-02"' in (tmp_path / "CITATION.cff").read_text(encoding="utf-8")
    wrong = subprocess.run([*command[:2], "example.org"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode != 0
    assert wrong.stderr.count("\n") == 1


def test_few_crates_are_published():
    manifests = [*CHECKOUT.glob("crates/*/Cargo.toml"), *CHECKOUT.glob("apps/*/Cargo.toml")]
    packages = [tomllib.loads(path.read_text(encoding="utf-8")) for path in manifests]
    public = {one["package"]["name"]: one for one in packages if one["package"].get("publish", True) is not False}
    assert set(public) == {f"levelflow-{name}" for name in release.CRATES}
    for one in public.values():
        needed = {name for name in one["dependencies"] if name.startswith("levelflow-")}
        assert needed <= set(public)
        assert one["package"]["keywords"]
        assert one["package"]["categories"]


def test_version_and_citation_agree():
    citation = (CHECKOUT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {release.version()}\n" in citation
    assert re.search(r'^date-released: "\d{4}-\d\d-\d\d"$', citation, re.MULTILINE)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash(path):
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[\d.]+", use)] == []


def test_dashboard_and_alerts_name_existing_metrics():
    source = (CHECKOUT / "crates/router/src/metrics.rs").read_text(encoding="utf-8")
    gauges, counters = (re.findall(r'"(levelflow_router_\w+)"', part) for part in source.split("fn counters"))
    exported = {*gauges, *(f"{name}_total" for name in counters)}
    dashboard = json.loads((PACKAGING / "prometheus/dashboard.json").read_text(encoding="utf-8"))
    alerts = (PACKAGING / "prometheus/alerts.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"levelflow_router_\w+", json.dumps(dashboard) + alerts))
    assert len(named) > 9
    assert named <= exported
    units = ("_bytes", "_bytes_per_second", "_seconds", "_packets", "_datagrams", "_clients", "_intervals", "_signal")
    assert [name for name in (*gauges, *counters) if not name.endswith(units)] == []


@pytest.mark.needs("dpkg-deb")
def test_a_debian_package_has_program_unit_manual_and_completion(tmp_path):
    program = os.environ.get("LEVELFLOW_NET") or shutil.which("levelflow-net")
    if not program or not os.access(program, os.X_OK):
        pytest.skip("levelflow-net is not built")
    subprocess.run([PACKAGING / "deb/build", program, "amd64", tmp_path], check=True, timeout=300, capture_output=True)
    (package,) = tmp_path.glob(f"levelflow-net_{release.version()}_amd64.deb")
    listed = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    for name in (
        "usr/bin/levelflow-net",
        "usr/lib/systemd/system/levelflow-router@.service",
        "etc/levelflow/router.conf",
        "usr/share/man/man1/levelflow-net-probe.1.gz",
        "usr/share/bash-completion/completions/levelflow-net",
    ):
        assert f"./{name}\n" in listed
    fields = subprocess.run(["dpkg-deb", "--field", package], capture_output=True, text=True, check=True).stdout
    assert "Package: levelflow-net\n" in fields


def test_scripts_of_openwrt_are_valid_shell():
    script = (PACKAGING / "openwrt/files/levelflow.init").read_text(encoding="utf-8")
    subprocess.run(["sh", "-n"], input=script, text=True, check=True, timeout=60)
    config = (PACKAGING / "openwrt/files/levelflow.config").read_text(encoding="utf-8")
    read = set(re.findall(r"(?:config_get(?:_bool)? \w+|add_option) \"\$1\" (\w+)", script))
    assert set(re.findall(r"option (\w+)", config)) <= read
