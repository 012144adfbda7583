"""A scoring API of the SDK as a process on loopback."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

STARTED = re.compile(r"Uvicorn running on (http://\S+)")


@dataclass(kw_only=True)
class ServedScorer:
    """A running `gitops-dsf scorer run`."""

    url: str
    process: "subprocess.Popen[str]"


@contextmanager
def serving(app: str, directory: Path, *options: str, programs: Path) -> Iterator[ServedScorer]:
    """`programs` is the folder with `gitops-dsf`, such as the fixture `warm_programs`."""
    command = [str(programs / "gitops-dsf"), "scorer", "run", app, "--port", "0", *options]
    with subprocess.Popen(command, cwd=directory, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                found = STARTED.search(line)
                if found is not None:
                    # Nobody reads the rest. A few log lines fit into the pipe.
                    yield ServedScorer(url=found[1], process=process)
                    return
            pytest.fail("the scoring API did not start:\n" + "".join(lines))
        finally:
            process.terminate()
