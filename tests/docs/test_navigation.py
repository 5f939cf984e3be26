"""Navigation of the documentation site: every page of `docs` has a place, and every place a page."""

import re

from tools import CHECKOUT

#: Pages that `tools/site.py` writes or adds after the build.
MADE = {"docs/reference/python.md", "lab/index.html", "rust/levelflow_laws/index.html"}


def test_every_page_is_in_the_navigation_once():
    navigation = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    named = re.findall(r"^ +- .*: (\S+)$", navigation, re.MULTILINE)
    assert len(named) == len(set(named))
    pages = [*CHECKOUT.glob("docs/**/*.md"), *CHECKOUT.glob("docs/notebooks/*.ipynb")]
    wanted = {str(page.relative_to(CHECKOUT).with_suffix(".md")) for page in pages}
    assert wanted - set(named) == set()
    assert {name for name in named if not (CHECKOUT / name).is_file()} <= MADE | {
        f"docs/notebooks/{path.stem}.md" for path in CHECKOUT.glob("docs/notebooks/*.ipynb")
    }
