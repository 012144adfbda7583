"""Programs that start in a fiftieth of a second.

Each is a fork of a Python that has imported everything.

A new Python needs half a second to import the generator, which is most of what a script costs that
runs `gitops-dsf`. `warm_python` writes a folder with `python`, `python3`, `gitops-dsf` and
`gitops-dsf-agent`. Each of them hands its arguments, working directory, environment and standard
streams to a server. The server forks, and the fork becomes the program. Signals reach it, and the
exit code is its own.

What only a new Python shows (a start, a locale, an option of the interpreter) needs a real one:
tests/integration/test_programs.py runs verbs in one.
"""

import contextlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PROGRAMS: Final = ("python", "python3", "gitops-dsf", "gitops-dsf-agent")
HERE: Final = Path(__file__).parent


@contextlib.contextmanager
def warm_python() -> Iterator[Path]:
    """Runs the server. Gives the folder with the programs."""
    with tempfile.TemporaryDirectory(prefix="warm-") as folder:
        root = Path(folder)
        programs = root / "bin"
        programs.mkdir()
        command = shlex.join([sys.executable, "-IS", str(HERE / "client.py"), str(root / "server")])
        for name in PROGRAMS:
            (programs / name).write_text(f'#!/bin/sh\nexec {command} "$0" "$@"\n')
            (programs / name).chmod(0o755)
        with subprocess.Popen(
            [sys.executable, "-P", HERE / "server.py", root / "server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                assert server.stdout.readline() == b"ready\n"
                yield programs
            finally:
                server.stdin.close()
