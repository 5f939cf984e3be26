"""Check of English form and line lengths that `make check` runs."""

import subprocess
import sys

import pytest
from tools.check_words import CHECKOUT, HEAD, WORDS, complaints

#: Sentences of former Rust comments. A reader needs to read each sentence twice.
RIDDLES = """
/// Of what the line was idle meanwhile, no more stays than a step, or than one flow can be due whose window halves.
/// A buffer that is too large misses its target by nothing but what is allowed, so its way down is long.
/// A buffer that shrinks below what waits would drop all that arrives. So it follows the queue down.
/// What is silent for so long is not there; a far end forgets its last client sooner than a greeting is given up.
/// A median is the wait of most calls; below this much nobody hears it, s.
/// A wait is longer than another if it is so by this part, and this time, ns.
/// Load waits longer than small packets by so much where each flow has its queue.
/// Gives the time at which the link must be looked at, if it has no event before which nothing needs to know of it.
/// `soon` hears of an event of a slice so many events before it: reading memory takes about as long.
/// Above so many pending events, later ones are put off unsorted.
/// Who of a fixed number of players has the earliest time, found without a branch that depends on the times.
/// What was heard of data in all; nothing without recovery.
/// Nothing of it is there before the application writes.
/// Of packets before this number, it is known whether they arrived, or they are taken for lost.
/// The ACK of a packet may come as late as this, or so many times later than the latest one.
/// What was lost is on its way again in packets up to this number.
/// Of packets that had been taken for lost, so many turned out to have arrived.
/// Whether the application had less to send than it might have had, not longer ago than what was then on its way.
/// Under which circumstances the packet left that the next call is about
/// A router that has no share to tell, since nobody takes it for a bottleneck, limits flows if it alone refuses.
/// Without a packet in both, a flow hears nothing of itself; a flow that sends so seldom keeps its first rate for ever.
/// Who reads scenarios from files has put its changes in its place before.
/// What it adds to the weight of a path, of which routes have the least: 1, which counts links, to 16777215.
/// Says of what did not come out whether the paper errs, as long as its proof holds, or nobody can tell.
/// By target, what there is of what is to be little, in parts of what is allowed: idle, lost, waited.
""".strip().splitlines()


def test_there_are_25_riddles():
    assert len(RIDDLES) == 25


@pytest.mark.parametrize("line", RIDDLES)
def test_riddles_are_rejected(line):
    assert list(complaints("crates/sim/src/a.rs", line))
    assert list(complaints("python/levelflow/a.py", f'"""{line.removeprefix("/// ")}"""\n'))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/a.md", "The sizer decides."),
        ("docs/a.md", "| A sender is told the rate. |"),
        ("papers/a/claim.toml", 'title = "rates at rest"'),
        ("crates/testbed/src/a.rs", "/// The cable."),
        ("crates/sim/src/a.rs", "// An answer."),
        ("crates/sim/src/a.rs", 'let x = "nobody is here";'),
        ("crates/sim/src/a.rs", 'let x = r#"a "quoted" nobody"#;'),
        ("crates/sim/src/a.rs", "/* Two lines,\nand nobody. */"),
        ("crates/sim/src/a.rs", "//! Rates.\n\n/// How fast."),
        ("apps/lab/web/a.js", "const x = `packets under way: ${count}`;"),
        ("apps/lab/web/a.js", "/** When it ends. */"),
        ("apps/lab/web/a.js", "/**\n * Whether it ends.\n */"),
        ("apps/net/a.lua", "-- A packet under way"),
        ("python/a.py", '"""How fast."""'),
        ("python/a.py", 'X = 1\n#: Whether it is.\nY = f"{x}"'),
        ("python/a.py", "print('it comes to nothing')"),
        ("python/a.py", 'def f():\n    """Of all flows."""'),
        ("docs/a.md", "x " * 61),
    ],
)
def test_breaches_of_form_and_long_lines_are_found(name, text):
    assert len(list(complaints(name, f"{text}\n"))) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/a.md", "The rest of the answer."),
        ("docs/a.md", "See [the page](what-it-tells.md) and `what is lost`."),
        ("docs/a.md", f"| {'x ' * 61}|"),
        ("docs/a.md", f"```\n{'x ' * 61}nobody\n```"),
        ("crates/sim/src/a.rs", f"// {'x ' * 61}"),
        ("crates/sim/src/a.rs", "//# A receiver hears nobody, says the RFC.\nfn tell(heard: u8) { ask('\"') }"),
        ("crates/sim/src/a.rs", "/// Largest queue,\n/// which is in bytes."),
        ("crates/sim/src/a.rs", 'format!("rate {told} b/s")'),
        ("python/a.py", 'call(\n    """from nowhere import nobodies""",\n)'),
        ("python/a.py", "# RFC 5681 says three."),
        ("python/a.py", 'f"{asked} flows"'),
    ],
)
def test_plain_english_tables_quotations_and_code_pass(name, text):
    assert list(complaints(name, text)) == []


def test_the_command_fails_on_a_tree_with_a_breach_and_counts_it(tmp_path):
    (tmp_path / "tools").mkdir()
    script = tmp_path / "tools" / "check_words.py"
    script.write_text((CHECKOUT / "tools" / "check_words.py").read_text(encoding="utf-8"), encoding="utf-8")
    page = tmp_path / "page.md"

    def check(text, *words):
        page.write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
        subprocess.run(["git", "add", "page.md"], cwd=tmp_path, check=True)
        return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=False)

    assert check("An ACK.\n").returncode == 0
    failed = check("An ACK.\nWhoever sends.\n")
    assert failed.returncode == 1
    assert "page.md:2: 'Whoever'; write" in failed.stderr
    assert check("Whoever.\n", "--count").stdout.split() == ["1", "page.md"]
    assert check("Whoever.\n", "other").returncode == 0
    assert HEAD.match("Whether")
    assert len(WORDS) > 25
