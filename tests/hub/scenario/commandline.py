"""`gitops-dsf` as a person runs it: within this process where that makes no difference, or as a process of
its own.
"""

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from gitops_dsf.cli.main import main


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a shell would have seen of a command."""

    code: int
    stdout: str
    stderr: str


def gitops_dsf(*arguments: str, folder: Path | None = None) -> Ran:
    """Run one command within this process, which has imported everything already, in `folder` where one is
    given.
    """
    stdout, stderr = io.StringIO(), io.StringIO()
    with chdir(folder or "."), redirect_stdout(stdout), redirect_stderr(stderr):
        code = main(arguments)
    return Ran(code=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())
