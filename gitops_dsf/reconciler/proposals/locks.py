"""Locks that differ from their /config pages: writes new locks as `gitops-dsf sync` does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsf_wire.text import printable
from gitops_dsf.reconciler.proposals.change import Change
from gitops_dsf.repository.load import load
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.write import write_files
from gitops_dsf.sync import LockState
from gitops_dsf.sync.fetch import Fetcher, FetchLimits
from gitops_dsf.sync.plan import plan_sync


async def locks(root: Path, scorers: Sequence[str], *, seconds: float, secrets: Path | None = None) -> Change:
    """Raises RepositoryError when the checkout cannot be read, or a lock cannot be written."""
    declared = declare(load(root))
    full = {item.name for item in declared.scorers if item.value.spec.reads_config}
    full |= {name for kind, name in declared.left_out if kind == "DynamicScorer"}
    asked = sorted(full.intersection(scorers))
    if not asked:
        return Change()
    async with Fetcher(limits=FetchLimits(seconds=seconds), secrets=secrets) as fetcher:
        plan = await plan_sync(root, fetcher=fetcher, only=asked)
    changed = [item for item in plan.outcomes if item.verdict in {LockState.NEW, LockState.CHANGED}]
    refused = [item for item in plan.outcomes if item.verdict is LockState.REFUSED]
    why = "; ".join(f"{item.scorer}: {'; '.join(item.reasons)}" for item in refused)
    if not changed:
        return Change(why=why, refused=[item.scorer for item in refused])
    details = []
    for item in changed:
        details += [f"{item.url} says:"]
        details += [f"{each.field}: {_value(each.before)} -> {_value(each.after)}" for each in item.changes]
        details += [f"warning: {note}" for note in item.notes]
    write_files(root, plan.files)
    names = [item.scorer for item in changed]
    return Change(
        files=sorted(plan.files),
        title="Accept what /config of "
        + (f"scorer {names[0]} says" if len(names) == 1 else f"{len(names)} scorers says"),
        details=[printable(line, most=600) for line in details],
        note=why,
        scorers=names,
        refused=[item.scorer for item in refused],
    )


def _value(value: Any) -> str:  # noqa: ANN401 - any plain value
    return "(absent)" if value is None else printable(value, most=250)
