"""The text of `sync`: the result of each lock, a summary, and hints about Services."""

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from dsf_wire.text import printable
from gitops_dsf.sync.locks import LockResult, LockState, SyncPlan


def lock_lines(plan: SyncPlan, *, check: bool) -> Iterator[str]:
    """A block of lines for each scorer. With `check` nothing was written."""
    width = max((len(result.scorer) for result in plan.outcomes), default=0)
    for result in plan.outcomes:
        yield f"{result.scorer:<{width}}  {_headline(result, check=check)}"
        yield from _details(result)


def sync_summary(plan: SyncPlan, *, check: bool) -> str:
    """The number of locks with each result, and the next step."""
    if not plan.outcomes:
        return "no scorer has configSyncMode Full: nothing to ask"
    counts = Counter(result.verdict for result in plan.outcomes)
    parts: list[str] = []
    for verdict in LockState:
        if counts[verdict]:
            parts.append(f"{counts[verdict]} {verdict}")
    words = ", ".join(parts)
    if not plan.files:
        return words
    if check:
        return f"{words}; run gitops-dsf sync to write them"
    # A lock decides where metrics and tokens go, so it should not be committed unread.
    return f"{words}; review locks/, run gitops-dsf render, and commit both"


def ways_to_services(plan: SyncPlan, directory: Path) -> list[str]:
    """Hints where pages of Services cannot be reached, as on a laptop."""
    if not plan.unreached:
        return []
    # One example is enough: the ports of the others are forwarded in the same way.
    first = plan.unreached[0]
    parts = urlsplit(first.url)
    # In a cluster a Service has the name SERVICE.NAMESPACE.svc, or shorter.
    service, namespace = (parts.hostname or "").split(".")[:2]
    port = parts.port or (443 if parts.scheme == "https" else 80)
    fleet = "" if directory == Path() else f" {shlex.quote(str(directory))}"
    return [
        (
            f"{parts.hostname} is the name of a Service, which is known in its cluster only."
            " Forward its port:"
        ),
        f"  kubectl --context CLUSTER -n {namespace} port-forward service/{service} 18080:{port} &",
        f"  gitops-dsf sync{fleet} --scorer {first.scorer} --connect-to 127.0.0.1:18080",
        (
            "or let the reconciler propose the locks, if the hub reaches it"
            " (docs/operate/proposals.md)"
        ),
    ]


def _headline(result: LockResult, *, check: bool) -> str:
    file = result.file
    match result.verdict:
        case LockState.UNCHANGED:
            return f"unchanged  {file}"
        case LockState.NEW:
            return f"new        {file} would be written" if check else f"new        {file} written"
        case LockState.CHANGED:
            return f"changed    {file} would be written" if check else f"changed    {file} written"
        case LockState.REFUSED:
            return f"refused    {file} stays as it is"
        case LockState.UNUSED:
            return f"unused     {file}"


def _details(result: LockResult) -> Iterator[str]:
    """Reasons, changed fields and warnings."""
    for reason in result.reasons:
        yield f"    {reason}"
    for change in result.changes:
        if result.verdict is LockState.NEW:
            yield f"    {change.field}: {_value(change.after)}"
        else:
            yield f"    {change.field}"
            yield f"      - {_value(change.before)}"
            yield f"      + {_value(change.after)}"
    for note in result.notes:
        yield f"    warning: {note}"


def _value(value: object) -> str:
    return "(absent)" if value is None else printable(value, max_characters=400)
