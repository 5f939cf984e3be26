"""Runs the commands and code on concept pages to draw their pictures: `python docs/concepts/draw.py`."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent
PAGES = ("why-delay-breaks-controllers.md", "fluid-models.md", "adaptive-buffers.md", "why-jetmax-starves.md")
#: Executables of the programs that pages call.
PROGRAMS = {"levelflow": Path(sys.executable).with_name("levelflow"), "python": Path(sys.executable)}


def main() -> None:
    """Draws the pictures of the named pages, or of all pages."""
    for page in sys.argv[1:] or PAGES:
        draw(FOLDER / page)


def draw(page: Path) -> None:
    """Runs the page's commands that write pictures, and keeps the pictures that the page shows, in few colours."""
    text = page.read_text(encoding="utf-8")
    lines = [line.lstrip("$ ") for line in text.splitlines() if "--out" in line]
    checkout = os.environ | {"PYTHONPATH": f"{FOLDER.parents[1]}{os.pathsep}{FOLDER.parents[1] / 'python'}"}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in lines:
            program, _, words = line.partition(" ")
            if program in PROGRAMS:
                command = [PROGRAMS[program], *shlex.split(words)]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=checkout)
        for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            exec(compile(code, page.name, "exec"), {})
        made = {"-".join(path.relative_to(folder).parts): path for path in Path(folder).rglob("*.png")}
        for name in re.findall(r"\]\(img/([\w-]+\.png)\)", text):
            Image.open(made[name]).convert("RGB").quantize(160).save(FOLDER / "img" / name, optimize=True)


if __name__ == "__main__":
    main()
