"""`python -m demo`, which `make demo` runs.

Exit codes: 0 the demo completed; 1 something is missing or did not happen; 2 wrong usage; 128 + signal after
a signal.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from demo.folder import emptied
from demo.narrator import Narrator
from demo.signals import Stop, StoppedError
from demo.stage import EXAMPLES, FAST, FULL, Stage
from demo.story import STEPS, Story, commands, loads, shown
from gitops_dsf.errors import GitopsDsfError

DESCRIPTION = """\
The whole loop on this machine: a fleet repository in git, real agents and scoring APIs, scores, decisions, a
pull request with its preview, and load that moves an application. No Kubernetes and no network; about a
minute. docs/start/quickstart.md explains it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a demo and returns the exit code."""
    args = _parser().parse_args(argv)
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


def _parser() -> argparse.ArgumentParser:
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
        help="folder that is made anew and stays; demo-out by default",
    )
    parser.add_argument("--fast", action="store_true", help="the same story with less time to watch")
    return parser


def _run(args: argparse.Namespace, stop: Stop) -> int:
    if not EXAMPLES.is_dir():
        raise GitopsDsfError(
            f"the demo runs the sample scorers of a checkout, and {EXAMPLES} is not there: git clone the"
            " project and run `make demo` in it"
        )
    started = time.monotonic()
    narrator = Narrator(sys.stdout, steps=STEPS)
    with ExitStack() as stack:
        folder = stack.enter_context(emptied(args.out))
        pace = FAST if args.fast else FULL
        stage = Stage(folder=folder, pace=pace, stop=stop, loads=loads(), stack=stack)
        narrator.plain(
            "gitops-dsf demo: scores decide where an application runs, and git decides how clusters are",
            "scored.",
        )
        Story(stage, narrator).run()
        (folder / "history.json").write_bytes(msgspec.json.encode(stage.history))
        tries = (f"    {line}" for line in commands(folder))
        narrator.plain("", f"  {shown(folder)}/ stays. To try:", *tries)
        count = stage.programs.stop()
        narrator.plain("", f"  {count} programs ended after {time.monotonic() - started:.0f} s.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
