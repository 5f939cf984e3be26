"""Files of Linux, compiled with a driver of ours instead of the kernel around them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tools import CHECKOUT


def copied(source: Path, into: Path, patches: tuple[tuple[str, str], ...] = ()) -> None:
    """Copies a file without what it includes, and with other text in some places."""
    text = source.read_text(encoding="utf-8")
    for old, new in patches:
        if text.count(old) != 1:
            raise ValueError(f"{old!r} is {text.count(old)} times in {source.name}")
        text = text.replace(old, new)
    (into / source.name).write_text(re.sub(r"^#include .*$", "", text, flags=re.MULTILINE), encoding="utf-8")


def compile_driver(name: str, into: Path, program: Path, source: str) -> None:
    """Compiles a driver of `benches/peers`, which includes files that lie in `into`."""
    driver = CHECKOUT / "benches" / "peers" / name
    command = ["cc", "-O2", "-w", f"-I{driver.parent}", f"-I{into}", str(driver), "-lm", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{source} does not compile:\n{done.stderr}")
