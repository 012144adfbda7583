"""Locks that differ from their /config pages: works out new locks as `gitops-dsf sync` does."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dsf_wire.text import printable
from gitops_dsf.reconciler.proposals.protocol import LockChange
from gitops_dsf.reconciler.proposals.validation import Validation
from gitops_dsf.repository.load import load
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.sync import LockResult, LockState, SyncPlan
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.sync.plan import plan_sync


async def locks(
    root: Path, names: Sequence[str], *, fetcher: Fetcher, validation: Validation
) -> list[LockChange]:
    """One result per name. Raises RepositoryError when the checkout cannot be read."""
    declared = declare(load(root))
    full = {item.name for item in declared.scorers if item.value.spec.reads_config}
    asked = [name for name in names if name in full]
    unclear = [
        name
        for name in names
        if name not in full and (declared.unreadable or ("DynamicScorer", name) in declared.malformed)
    ]
    found = [
        LockChange(scorer=name, state="undecided", why="its DynamicScorer in git has mistakes")
        for name in unclear
    ]
    found += [
        LockChange(scorer=name, state="same") for name in names if name not in full and name not in unclear
    ]
    if not asked:
        return found
    together = await plan_sync(root, fetcher=fetcher, only=asked)
    shared = Counter(
        item.file for item in together.outcomes if item.verdict in {LockState.NEW, LockState.CHANGED}
    )
    plans: list[tuple[SyncPlan, LockResult]] = []
    for outcome in together.outcomes:
        plan = together
        if shared[outcome.file] > 1:
            # A file with several locks: each proposal holds its own change only.
            plan = await plan_sync(root, fetcher=fetcher, only=[outcome.scorer])
        plans += [(plan, item) for item in plan.outcomes if item.scorer == outcome.scorer]
    changes = {file: text for plan, item in plans for file, text in plan.files.items() if file == item.file}
    # All changes are validated together, unless a file has two of them.
    fine = max(shared.values(), default=0) < 2 and not validation.new_errors(changes)
    return found + [_change(plan, item, None if fine else validation) for plan, item in plans]


def _change(plan: SyncPlan, outcome: LockResult, validation: Validation | None) -> LockChange:
    if outcome.verdict is LockState.UNCHANGED:
        return LockChange(scorer=outcome.scorer, state="same")
    if outcome.verdict not in {LockState.NEW, LockState.CHANGED}:
        return LockChange(scorer=outcome.scorer, state="undecided", why="; ".join(outcome.reasons))
    text = plan.files[outcome.file]
    mistakes = validation.new_errors({outcome.file: text}) if validation is not None else []
    if mistakes:
        return LockChange(
            scorer=outcome.scorer,
            state="undecided",
            why=f"the repository would be invalid: {'; '.join(mistakes[:3])}",
        )
    details = [f"{outcome.url} says:"]
    details += [
        f"{change.field}: {_value(change.before)} -> {_value(change.after)}" for change in outcome.changes
    ]
    details += [f"warning: {note}" for note in outcome.notes]
    return LockChange(
        scorer=outcome.scorer,
        state="change",
        file=outcome.file,
        text=text,
        details=[printable(line, most=600) for line in details],
    )


def _value(value: Any) -> str:  # noqa: ANN401 - any plain value
    return "(absent)" if value is None else printable(value, most=250)
