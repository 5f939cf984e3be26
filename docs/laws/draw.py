"""Runs the commands on the pages of laws to draw their pictures: `python docs/laws/draw.py [LAW ...]`."""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

FOLDER = Path(__file__).parent
LEVELFLOW = Path(sys.executable).with_name("levelflow")


def command(page: Path) -> list[str]:
    """Returns the words of the only shell command on a page."""
    text = page.read_text(encoding="utf-8")
    return shlex.split(text.split("```sh\n")[1].split("\n```")[0])


def draw(page: Path) -> None:
    """Runs the command of a page and keeps its picture of rates, in few colours so that the file is small."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([LEVELFLOW, *command(page)[1:], "--out", out], check=True, stdout=subprocess.DEVNULL)
        picture = Image.open(Path(out) / "rates.png").convert("RGB").quantize(32)
        picture.save(FOLDER / "img" / f"{page.stem}.png", optimize=True)


if __name__ == "__main__":
    names = sys.argv[1:] or sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "README")
    for name in names:
        draw(FOLDER / f"{name}.md")
