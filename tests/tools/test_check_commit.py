"""Check of commit messages, directly and as run by git."""

import shutil
import subprocess

import pytest
from tools import CHECKOUT
from tools.check_commit import complaints


@pytest.mark.parametrize(
    "message",
    [
        "Measure queueing delay per packet\n\nBacklog over capacity is wrong behind a shaper: 8 us for 0.9 ms.\n",
        "Address findings of the review\n",
        "Merge branch 'x'; y\n",
        f"Add {'x' * 68}\n",
        "Fix a typo\n# a comment; of git.\n",
        "fixup! Fix a typo\n",
        "\nPass a value\n",
        f"Fix a typo\n\n# {'-' * 24} >8 {'-' * 24}\ndiff --git a; b\n{'+word ' * 30}\n",
        f"Add a link\n\nhttps://{'x' * 100}\n",
    ],
)
def test_imperative_subjects_pass(message):
    assert list(complaints(message)) == []


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("", "empty"),
        ("# only a comment\n", "empty"),
        (f"Add {'x' * 69}\n", "73 characters; at most 72"),
        ("Add a queue; fix a test\n", "semicolon"),
        ("Add a queue.\n", "full stop"),
        ("add a queue\n", "capital"),
        ("Adds a queue\n", "order"),
        ("Added a queue\n", "order"),
        ("Adding a queue\n", "order"),
        ("Lab: two scripts\n", "order"),
        ("Merges two tools\n", "order"),
        ("Add a queue\nand a test\n", "second line"),
        (f"Add a queue\n\n{'word ' * 17}\n", "line 3 has"),
    ],
)
def test_other_messages_are_rejected(message, complaint):
    (found,) = complaints(message)
    assert complaint in found


def test_git_runs_the_check(tmp_path):
    (tmp_path / "tools").mkdir()
    shutil.copy(CHECKOUT / "tools" / "check_commit.py", tmp_path / "tools")
    shutil.copytree(CHECKOUT / ".githooks", tmp_path / ".githooks")

    def git(*words):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "core.hooksPath=.githooks")
        return subprocess.run(["git", *identity, *words], cwd=tmp_path, capture_output=True, text=True, check=False)

    git("init", "-q")
    refused = git("commit", "--allow-empty", "-qm", "added things; others")
    assert refused.returncode == 1
    assert refused.stderr.count("commit message: ") == 3
    assert git("commit", "--allow-empty", "-qm", "Add things").returncode == 0
