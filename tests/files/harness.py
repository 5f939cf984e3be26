"""Runs commands of Levelflow in forked processes under faults of the disk (`disk.c`, by LD_PRELOAD).

Reads requests from standard input, one JSON object per line, and answers each with one line. A forked process starts
within milliseconds, since this process has imported all modules.
"""

import ctypes
import errno
import json
import os
import shutil
import sys
import traceback
from pathlib import Path

from levelflow import Result, ScenarioError, cli, running
from levelflow.convergence import benchmark, driver, pictures, search, table  # noqa: F401 - imported in advance
from levelflow.reproduce import figure, model, report, runner  # noqa: F401
from levelflow.study import pictures as study_pictures  # noqa: F401
from levelflow.study import study  # noqa: F401

MODES = ("count", "kill", "fail", "remove")
DISK = ctypes.CDLL(None)
DISK.disk_arm.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_long, ctypes.c_int)
DISK.disk_calls.restype = ctypes.c_long
FAILED = 101
CREATED, RENAMED, REMOVED, DIRECTORY_REMOVED = range(4)


class Change(ctypes.Structure):
    """Change of the entries of a directory; see `disk.c`."""

    _fields_ = (("kind", ctypes.c_int), *((name, ctypes.c_char * 512) for name in ("old", "new", "kept")))


# Writes after every few events, so that a short run has many writes at which a test can stop it.
running.FLUSH_EVERY_S = 0.0
running.EVENTS_PER_STEP = 2_000


def execute(words):
    """Runs a command and ends the process."""
    sys.argv = ["levelflow", *words]
    cli.main()


def load(path):
    """Prints a result: its status, its time and the numbers of rows."""
    try:
        result = Result.load(path)
    except ScenarioError as error:
        print(json.dumps({"refused": str(error)}))
        return
    rows = {name: getattr(result, name).height for name in ("flows", "links", "transfers", "members")}
    last = result.flows["t"].max() or 0.0
    manifest = result.manifest
    print(
        json.dumps(
            {
                "status": manifest["status"],
                "simulated_s": manifest["simulated_s"],
                "last_s": last,
                "name": manifest["scenario"]["name"],
                "has_summary": bool(result.summary),
                **rows,
            }
        )
    )


def child(request, output, error):
    """Executes a request in a forked process."""
    os.dup2(os.open(output, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 1)
    os.dup2(os.open(error, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), 2)
    os.chdir(request["folder"])
    number = getattr(errno, request.get("error", "ENOSPC"))
    DISK.disk_arm(
        os.fsencode(request["below"]), os.fsencode(request["keep"]), MODES.index(request["mode"]), request["at"], number
    )
    status = FAILED
    try:
        load(request["load"]) if "load" in request else execute(request["words"])
        status = 0
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def undo(change):
    """Undoes a change of the entries of a directory. Later changes were undone, or are on the disk.

    If the directory is missing, its removal is on the disk, and so is the change.
    """
    old, new, kept = (Path(os.fsdecode(path)) for path in (change.old, change.new, change.kept))
    if change.kind == CREATED and os.path.lexists(new):
        # Files in a lost directory are lost, too.
        shutil.rmtree(new) if new.is_dir() and not new.is_symlink() else new.unlink()
    elif change.kind == DIRECTORY_REMOVED:
        if new.parent.is_dir():
            new.mkdir(exist_ok=True)
    elif change.kind == RENAMED and new.exists() and old.parent.is_dir():
        new.rename(old)
    if change.kept and not new.exists() and new.parent.is_dir():
        os.link(kept, new)


def lose_power(below):
    """Drops what was not written to the disk: changes of entries, and the content of files."""
    changes = ctypes.POINTER(Change)()
    number = DISK.disk_changes(ctypes.byref(changes))
    assert number >= 0, "more changes than disk.c records"
    for i in reversed(range(number)):
        undo(changes[i])
    dirty = ctypes.POINTER(ctypes.c_ulong)()
    count = DISK.disk_dirty(ctypes.byref(dirty))
    inodes = {dirty[i] for i in range(count)}
    for path in Path(below).rglob("*"):
        if path.is_file() and path.stat().st_ino in inodes:
            os.truncate(path, 0)
    return len(inodes) + number


def answer(request, output, error):
    """Executes a request and returns the outcome."""
    if not (process := os.fork()):
        child(request, output, error)
    ended = os.waitpid(process, 0)[1]
    calls = DISK.disk_calls()
    lost = lose_power(request["below"]) if request.get("power") else 0
    return {
        "status": os.waitstatus_to_exitcode(ended),
        "calls": calls,
        "lost": lost,
        "out": Path(output).read_text("utf-8"),
        "err": Path(error).read_text("utf-8"),
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line), *sys.argv[1:3])), flush=True)
