"""`python -m tests.fuzz [READER ...] [--minutes N]`: looks for bytes that break a reader.

Each reader runs in a process of its own and begins with its corpus, tests/fuzz/corpus/READER. What
breaks a reader is written there and named; `make test` reads the corpus again from then on.
"""

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

NAMES: Final = (
    "repository", "fleet", "expression", "native", "scores", "series", "kubernetes", "history", "journal",  # noqa: E501
    "values", "hub",
)  # fmt: skip
CORPUS: Final = Path(__file__).parent / "corpus"
INSTRUMENTED: Final = ("gitops_dsf", "dsf_agent", "dsf_wire", "yaml")
MAX_BYTES: Final = 2048
"""Bytes of an input."""
SECONDS: Final = 10
"""Of one input, on a machine that is busy. Honest ones take milliseconds."""
MEBIBYTES: Final = 1500
"""Of the process, the corpus and the libraries included."""
ENDING_SECONDS: Final = 4
"""What is left of the minutes for the last input and the report."""
_PROGRAM: Final = (sys.executable, "-m", "tests.fuzz")


@dataclass(frozen=True, kw_only=True)
class Run:
    """A reader, its process, and the folder in which it writes."""

    name: str
    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument(
        "readers", nargs="*", metavar="READER", help=f"{', '.join(NAMES)}; default: all"
    )
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="for all readers together, start included"
    )
    parser.add_argument("--child", nargs=2, metavar=("END", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    names = given.readers or NAMES
    if unknown := [name for name in names if name not in NAMES]:
        parser.error(f"there is no reader {unknown[0]}; write one of {', '.join(NAMES)}")
    if given.child:
        end, folder = given.child
        return _fuzz(names[0], Path(folder), end=float(end))
    if importlib.util.find_spec("atheris") is None:
        sys.stdout.write(
            "NOT RUN: atheris has builds for Linux on x86_64 alone, with Python up to 3.13\n"
        )
        return 0
    with tempfile.TemporaryDirectory() as top:
        end = time.time() + given.minutes * 60 - ENDING_SECONDS
        runs = [_started(name, Path(top) / name, end=end) for name in names]
        broken = [run for run in runs if run.process.wait() != 0]
        for run in runs:
            _report(run)
        return 1 if broken else 0


def _started(name: str, folder: Path, *, end: float) -> Run:
    found = folder / "found"
    found.mkdir(parents=True)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*_PROGRAM, name, "--child", str(end), folder], stdout=log, stderr=subprocess.STDOUT
        )
    return Run(name=name, process=process, folder=folder)


def _fuzz(name: str, folder: Path, *, end: float) -> int:
    """Runs until `end` (Unix seconds) or until an input breaks the reader; the process ends
    here.
    """
    import atheris

    with atheris.instrument_imports(include=list(INSTRUMENTED), enable_loader_override=False):
        from tests.fuzz.readers import READERS  # only what is imported here is instrumented
    reader = READERS[name]
    words = folder / "words"
    words.write_text("".join(f"{_quoted(word)}\n" for word in reader.words))
    flags = [
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEBIBYTES}",
        f"-artifact_prefix={folder}/broken-",
    ]
    flags += [
        f"-max_total_time={max(1, round(end - time.time()))}",
        f"-max_len={MAX_BYTES}",
        f"-dict={words}",
    ]
    flags += ["-print_final_stats=1", str(folder / "found"), str(CORPUS / name)]
    current = folder / "current"

    def read(content: bytes) -> None:
        current.write_bytes(content)  # a stack that overflows leaves no other trace
        reader.read(content)

    atheris.Setup(["fuzz", *flags], read)
    atheris.Fuzz()
    return 0


def _report(run: Run) -> None:
    ran = re.search(r"stat::number_of_executed_units:\s+(\d+)", run.log)
    new = len(list((run.folder / "found").iterdir()))
    count = ran[1] if ran else "an unknown number of"
    sys.stdout.write(f"{run.name}: {count} inputs, {new} reached new lines\n")
    if run.process.returncode == 0:
        return
    if run.process.returncode < 0 and not list(run.folder.glob("broken-*")):
        (run.folder / "current").rename(run.folder / f"broken-by-signal-{-run.process.returncode}")
    for broken in sorted(run.folder.glob("broken-*")):
        kept = CORPUS / run.name / broken.name.removeprefix("broken-")
        kept.write_bytes(broken.read_bytes())
        sys.stdout.write(
            f"{run.name}: BROKEN by {os.path.relpath(kept)}: {broken.read_bytes()[:200]!r}\n"
        )
    lines = [
        line for line in run.log.splitlines() if not re.match(r"#\d+\t|NEW_FUNC|INFO|\t", line)
    ]
    sys.stdout.write("\n".join(lines[-60:]) + "\n")


def _quoted(word: str) -> str:
    """A line of a dictionary of libFuzzer."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in word.encode()) + '"'


if __name__ == "__main__":
    sys.exit(main())
