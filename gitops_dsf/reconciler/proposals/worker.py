"""The worker: a process that reads one WorkerRequest, writes one WorkerResponse, and ends. `ask` starts it.

It is a separate process because a fleet of 2,000 clusters needs a few hundred MB and seconds of CPU, while
the reconciler must renew its Lease and probe scorers.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import Final

import msgspec

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.reconciler.proposals.inventory import inventory
from gitops_dsf.reconciler.proposals.locks import locks
from gitops_dsf.reconciler.proposals.protocol import InventoryChange, WorkerRequest, WorkerResponse
from gitops_dsf.reconciler.proposals.validation import Validation
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

SECONDS: Final = 300.0
"""Time limit of a worker."""
NICE: Final = 10
"""All other processes have precedence."""


class WorkerError(GitopsDsfError):
    """The worker gave no response."""


async def ask(request: WorkerRequest) -> WorkerResponse:
    """Starts a worker and waits for its response. Cancelling kills the worker. Raises WorkerError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(SECONDS):
            out, err = await process.communicate(msgspec.json.encode(request))
    except TimeoutError as error:
        msg = f"the worker took longer than {SECONDS:g} s"
        raise WorkerError(msg) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        last = (err.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        msg = f"the worker ended with exit code {process.returncode}: {last}"
        raise WorkerError(msg)
    answer = msgspec.json.decode(out, type=WorkerResponse)
    if answer.trouble:
        raise WorkerError(answer.trouble)
    return answer


async def work(request: WorkerRequest) -> WorkerResponse:
    """Works out all changes that the request asks for."""
    root = Path(request.root)
    try:
        validation = Validation(root)
        async with Fetcher(limits=FetchLimits(seconds=request.seconds)) as fetcher:
            found = (
                await locks(root, request.scorers, fetcher=fetcher, validation=validation)
                if request.scorers
                else []
            )
    except GitopsDsfError as error:
        return WorkerResponse(trouble=_message(error, root))
    if request.clusters is None:
        return WorkerResponse(locks=found)
    try:
        return WorkerResponse(
            locks=found, inventory=inventory(root, request.clusters, request.gone, validation=validation)
        )
    except GitopsDsfError as error:
        return WorkerResponse(
            locks=found, inventory=InventoryChange(state="undecided", why=_message(error, root))
        )


def _message(error: GitopsDsfError, root: Path) -> str:
    """The message without the path of the working folder."""
    return " ".join(str(error).replace(f"{root}/", "").split())


def main() -> None:
    """Reads the request from standard input, and writes the response to standard output."""
    os.nice(NICE)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=WorkerRequest)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(work(request))))


if __name__ == "__main__":
    main()
