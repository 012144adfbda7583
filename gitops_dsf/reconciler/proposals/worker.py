"""The worker of proposals: a process that reads one Task, makes the Change, and ends.

`ask` starts it.

It is a separate process because a fleet of 2,000 clusters needs a few hundred MB and seconds of
CPU, while the reconciler must renew its Lease and probe scorers.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Final

import msgspec

from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.reconciler.git.credentials import GitError
from gitops_dsf.reconciler.git.program import run
from gitops_dsf.reconciler.proposals.changes import inventory, locks
from gitops_dsf.reconciler.proposals.workload import Change, ProposalKind, Task

SECONDS: Final = 300.0
NICE: Final = 10
"""All other processes have precedence."""


async def ask(task: Task) -> Change:
    """Starts a worker and waits for its response. Cancelling kills the worker. Raises GitError."""
    code, out, err = await run(
        # -P: the working tree may hold files that are called as a module of ours.
        (sys.executable, "-P", "-m", __name__),
        what="the worker",
        folder=Path("/"),
        stdin=msgspec.json.encode(task),
        seconds=SECONDS,
    )
    if code:
        last = (err.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        msg = f"the worker ended with exit code {code}: {last}"
        raise GitError(msg)
    return msgspec.json.decode(out, type=Change)


async def work(task: Task) -> Change:
    root = Path(task.root)
    try:
        if task.kind is ProposalKind.LOCKS:
            secrets = None if task.secrets is None else Path(task.secrets)
            return await locks(root, task.scorers, seconds=task.seconds, secrets=secrets)
        return inventory(root, task.clusters, task.gone)
    except GitopsDsfError as error:
        # Without the path of the working folder.
        return Change(why=" ".join(str(error).replace(f"{root}/", "").split()))


def main() -> None:
    """Reads the task from standard input, and writes the change to standard output."""
    os.nice(NICE)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    sys.stdout.buffer.write(msgspec.json.encode(asyncio.run(work(task))))


if __name__ == "__main__":
    main()
