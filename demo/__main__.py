"""The entry point of the demo, `python -m demo`, which `make demo` runs.

Exit codes: 0 the demo completed; 1 something is missing or did not happen; 2 wrong usage; 128 +
signal after a signal.
"""

import argparse
import fcntl
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from demo.narrator import Narrator
from demo.programs import Stop, StoppedError
from demo.stage import EXAMPLES, FAST, FULL, DemoStage
from demo.story import STEPS, Story, commands, loads, shown
from gitops_dsf.errors import GitopsDsfError

MARKER: Final = ".gitops-dsf-demo"
"""A file in the folder that a demo makes and keeps. docs/start/quickstart.md says what else is in
it.
"""
DESCRIPTION = """\
The whole loop on this machine: a fleet repository in git, real agents and scoring APIs, scores,
decisions, a pull request with its preview, and load that moves an application. No Kubernetes and no
network; about a minute. docs/start/quickstart.md explains it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a demo and returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="make demo",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("demo-out"),
        help="folder that is made again and stays; demo-out by default",
    )
    parser.add_argument(
        "--fast", action="store_true", help="the same story with less time to watch"
    )
    args = parser.parse_args(argv)
    stop = Stop()
    stop.listen()
    try:
        return _run(args, stop)
    except StoppedError as stopped:
        print("\nEnded by a signal; every program of the demo was stopped.", file=sys.stderr)
        return 128 + stopped.number
    except GitopsDsfError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1


@contextmanager
def emptied(folder: Path) -> Iterator[Path]:
    """Empties the folder of an earlier demo, and locks it until the end of the block.

    Raises GitopsDsfError if it holds anything else, or another demo runs in it.
    """
    root = folder.resolve()
    marker = root / MARKER
    # Everything below is deleted, so the folder must be empty, or one that a demo made.
    if root.exists() and not marker.is_file() and (not root.is_dir() or any(root.iterdir())):
        raise GitopsDsfError(
            f"{root} is there and no demo made it: remove it, or name another folder with --out"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = marker.open("a", encoding="utf-8")
    except OSError as error:
        raise GitopsDsfError(
            f"{error.filename or root} cannot be used: {error.strerror or error}"
        ) from error
    with lock:
        try:
            # The system gives up the lock when this process ends in any way, even by SIGKILL; a
            # file with a PID would stay, and could name another process by then.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise GitopsDsfError(
                f"a demo is running in {root}: end it with Ctrl-C, or name another folder with"
                " --out"
            ) from error
        for path in root.iterdir():
            # The marker stays: it is the file that is locked. A new one could be locked by another.
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARKER:
                path.unlink()
        yield root


def _run(args: argparse.Namespace, stop: Stop) -> int:
    if not EXAMPLES.is_dir():
        raise GitopsDsfError(
            f"the demo runs the sample scorers of a checkout, and {EXAMPLES} is not there: git"
            " clone the project and run `make demo` in it"
        )
    started = time.monotonic()
    narrator = Narrator(sys.stdout, steps=STEPS)
    # The stack closes in reverse order: programs and networks end before the folder is unlocked.
    with ExitStack() as stack:
        folder = stack.enter_context(emptied(args.out))
        pace = FULL
        if args.fast:
            pace = FAST
        stage = DemoStage(folder=folder, pace=pace, stop=stop, loads=loads(), stack=stack)
        narrator.plain(
            "gitops-dsf demo: scores decide where an application runs, and git decides how",
            "clusters are scored.",
        )
        Story(stage, narrator).run()
        (folder / "history.json").write_bytes(msgspec.json.encode(stage.history))
        narrator.plain("", f"  {shown(folder)}/ stays. To try:")
        for command in commands(folder):
            narrator.plain(f"    {command}")
        # The stack would stop them as well, but only here their number is known.
        count = stage.programs.stop()
        narrator.plain("", f"  {count} programs ended after {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
