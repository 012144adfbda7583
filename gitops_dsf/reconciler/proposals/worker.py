"""The worker: a process that reads one Ask, works it out, writes one Answer, and ends. `ask` starts it.

A process of its own, because a fleet of 2,000 clusters takes a few hundred MB and seconds of computing, while
leases are renewed and scorers are probed.
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
from gitops_dsf.reconciler.proposals.exchange import Answer, Ask, Inventory
from gitops_dsf.reconciler.proposals.inventory import inventory
from gitops_dsf.reconciler.proposals.locks import locks
from gitops_dsf.reconciler.proposals.newerrors import Checks
from gitops_dsf.sync.fetch import Fetcher, FetchLimits

SECONDS: Final = 300.0
"""For everything."""
NICE: Final = 10
"""Whatever else runs here comes first."""


class WorkerError(GitopsDsfError):
    """There is no answer."""


async def ask(question: Ask, *, seconds: float = SECONDS) -> Answer:
    """Starts a worker and waits for it; cancelling ends it. Raises WorkerError."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            out, err = await process.communicate(msgspec.json.encode(question))
    except TimeoutError as error:
        msg = f"no proposal was worked out within {seconds:g} s"
        raise WorkerError(msg) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode:
        last = (err.decode(errors="replace").strip().splitlines() or ["without a word"])[-1]
        msg = f"the worker ended with {process.returncode}: {last}"
        raise WorkerError(msg)
    answer = msgspec.json.decode(out, type=Answer)
    if answer.trouble:
        raise WorkerError(answer.trouble)
    return answer


async def work(question: Ask) -> Answer:
    """What the process does."""
    root = Path(question.root)
    try:
        checks = Checks(root)
        async with Fetcher(limits=FetchLimits(seconds=question.seconds)) as fetcher:
            found = (
                await locks(root, question.scorers, fetcher=fetcher, checks=checks)
                if question.scorers
                else []
            )
    except GitopsDsfError as error:
        return Answer(trouble=_told(error, root))
    if question.clusters is None:
        return Answer(locks=found)
    try:
        return Answer(locks=found, inventory=inventory(root, question.clusters, question.gone, checks=checks))
    except GitopsDsfError as error:
        return Answer(locks=found, inventory=Inventory(state="undecided", why=_told(error, root)))


def _told(error: GitopsDsfError, root: Path) -> str:
    """Without the folder, which is nobody's business."""
    return " ".join(str(error).replace(f"{root}/", "").split())


def main() -> None:
    """Standard input to standard output."""
    os.nice(NICE)
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=Ask)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(work(question))))


if __name__ == "__main__":
    main()
