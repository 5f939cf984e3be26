"""The check of words and of line lengths that `make check` runs."""

import subprocess
import sys

import pytest
from tools.check_words import CHECKOUT, RETIRED, complaints


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/a.md", "The sizer decides."),
        ("docs/a.md", "A sender is told the rate."),
        ("papers/a/claim.toml", "rates come to rest"),
        ("crates/testbed/src/a.rs", "/// The cable."),
        ("crates/sim/src/a.rs", "fn on_answer() {}"),
        ("docs/a.md", "x " * 61),
    ],
)
def test_retired_words_and_long_lines_are_found(name, text):
    assert len(list(complaints(name, f"fine\n{text}\n"))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/a.md", "The rest of the answer."),
        ("python/levelflow/cli/__init__.py", '("list", "sizers")'),
        ("crates/cli/src/abs.rs", "--sizer NAME"),
        ("docs/a.md", f"| {'x ' * 61}|"),
        ("docs/a.md", f"```\n{'x ' * 61}\n```"),
        ("crates/sim/src/a.rs", f"// {'x ' * 61}"),
    ],
)
def test_plain_english_tables_and_code_pass(name, text):
    assert list(complaints(name, text)) == []


def test_the_command_fails_on_a_tree_with_a_retired_word(tmp_path):
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "check_words.py"
    script.write_text((CHECKOUT / "tools" / "check_words.py").read_text(encoding="utf-8"), encoding="utf-8")
    page = tmp_path / "page.md"

    def check(text):
        page.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", "page.md"], cwd=tmp_path, check=True)
        return subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)

    assert check("An ACK.\n").returncode == 0
    failed = check("An ACK.\nWhoever sends.\n")
    assert failed.returncode == 1
    assert "page.md:2: 'Whoever' is retired" in failed.stderr
    assert len(RETIRED) > 5
