"""Runs another program, such as git. A run that was cancelled ends with all its child processes."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from gitops_dsf.reconciler.git.credentials import GitError

MAX_SECONDS: Final = 180.0


class Finished(NamedTuple):
    """The exit code and the output of a program that has ended."""

    code: int
    out: bytes
    err: bytes


async def run(
    command: Sequence[str],
    *,
    what: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | Path = b"",
    seconds: float = MAX_SECONDS,
) -> Finished:
    """Runs a command to its end. Raises GitError, which names `what`, after the time limit.

    `stdin` are bytes, or the file that has them.
    """
    written = stdin if isinstance(stdin, bytes) and stdin else None
    with contextlib.ExitStack() as opened:
        source: IO[bytes] | int = asyncio.subprocess.DEVNULL
        if written is not None:
            source = asyncio.subprocess.PIPE
        elif isinstance(stdin, Path):
            source = opened.enter_context(stdin.open("rb"))
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=environment,
            stdin=source,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # A process group of its own, so that what git starts (ssh, helpers) ends with it.
            start_new_session=True,
        )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate(written)
    except TimeoutError as error:
        msg = f"{what}: it took longer than {seconds:g} s"
        raise GitError(msg) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # A pipe stays open while it holds unread output.
            await process.communicate()
    return Finished(process.returncode or 0, out, err)
