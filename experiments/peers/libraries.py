"""Peers that are shared libraries. A header in `benches/peers` defines their exports. A driver there loads them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools import CHECKOUT


@dataclass(frozen=True)
class Peer:
    """Libraries in a folder that an option names. The header and the driver have the option's name."""

    option: str
    libraries: tuple[str, ...]
    code: str  #: public code that the numbers on the comparison's page come from

    @property
    def header(self) -> Path:
        """Header that defines the exports of the libraries."""
        return CHECKOUT / "benches" / "peers" / f"{self.option}.h"

    def lacks(self, folder: str) -> str | None:
        """Returns the missing requirement of a run of the libraries, as a clause; None if there is none."""
        needs = f"implement benches/peers/{self.header.name}; the page's numbers are of {self.code}"
        if not folder:
            return f"--{self.option} names no folder with {' and '.join(self.libraries)}: {needs}"
        for name in self.libraries:
            if not (Path(folder) / name).is_file():
                return f"{Path(folder) / name} is missing: {needs}"
        return None if shutil.which("c++") else "there is no c++ to compile the driver"

    def compiled(self, into: Path) -> Path:
        """Compiles the driver."""
        program = into / self.option
        command = ["c++", "-std=c++17", "-O2", str(self.header.with_suffix(".cc")), "-o", str(program), "-ldl"]
        subprocess.run(command, check=True)
        return program

    def run(self, program: Path, folder: str, words: tuple[object, ...]) -> str:
        """Runs the driver with the libraries in a folder, and returns its output."""
        libraries = (Path(folder).resolve() / name for name in self.libraries)
        command = [str(program), *map(str, libraries), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the libraries in {folder}: {done.stderr.strip() or done.returncode}")
        return done.stdout
