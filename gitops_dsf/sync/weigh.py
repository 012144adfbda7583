"""Compares configurations with the locks and rules of a repository: which locks change, and which are
refused. Pure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.hub.drift import Change, Config, drift, filled, flat
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import host_of
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.sync.acceptance import Candidate, accept
from gitops_dsf.sync.result import LockResult, LockState, SyncPlan


def weigh(
    *, loaded: Loaded, declared: Declared, texts: Mapping[str, str], answers: Mapping[str, Config | str]
) -> SyncPlan:
    """Decides about the locks of the Full scorers that are named in `answers`.

    An answer is a configuration, or the reason why there is none. `texts` are the existing lock files, by
    path.
    """
    locks = {item.name: item for item in declared.locks}
    allowed = declared.repository.value.spec.allowed_hosts if declared.repository is not None else []
    candidates: list[Candidate] = []
    outcomes: dict[str, LockResult] = {}
    for item in declared.scorers:
        if item.name not in answers:
            continue
        file, lock, answer = lock_file(item.name, locks), locks.get(item.name), answers[item.name]
        url = item.value.spec.config_url
        before = {} if lock is None else filled(lock.value.spec.config.model_dump(mode="json"))
        reasons = _broken_lock(declared, item.name, file)
        changes: tuple[Change, ...] = ()
        if isinstance(answer, str):
            reasons.append(answer)
        else:
            reasons += _moved_hosts(scorer=item.value, before=before, after=answer, allowed=allowed)
            old = {"config": before} | ({} if lock is None else {"configURL": lock.value.spec.config_url})
            changes = drift(flat(old), flat({"config": answer, "configURL": url}))
            if changes and not reasons:
                candidates.append(Candidate(scorer=item, file=file, config=answer))
        verdict = LockState.UNCHANGED
        if reasons:
            verdict = LockState.REFUSED
        elif changes:
            verdict = LockState.NEW if lock is None else LockState.CHANGED
        outcomes[item.name] = LockResult(
            scorer=item.name,
            verdict=verdict,
            file=file,
            url=url,
            changes=() if reasons else changes,
            reasons=tuple(reasons),
        )
    acceptance = accept(candidates, loaded=loaded, texts=texts)
    for candidate in candidates:
        name, file = candidate.scorer.name, candidate.file
        if errors := acceptance.refused.get(name):
            why = tuple(_words(found, file) for found in errors)
            outcomes[name] = replace(outcomes[name], verdict=LockState.REFUSED, reasons=why)
        else:
            warnings = (found for found in acceptance.findings if found.position.file == file)
            notes = tuple(_words(found, file) for found in warnings if found.severity is not Severity.ERROR)
            outcomes[name] = replace(outcomes[name], notes=notes)
    found = sorted(outcomes.values(), key=lambda found: found.scorer)
    return SyncPlan(outcomes=tuple(found), files=acceptance.files)


def lock_file(name: str, locks: Mapping[str, Item[ScorerLock]]) -> str:
    """The path of a scorer's lock, which may not exist yet."""
    return locks[name].document.file if name in locks else f"locks/{name}.yaml"


def _broken_lock(declared: Declared, name: str, file: str) -> list[str]:
    """A lock file that cannot be parsed is not overwritten, because somebody edited it."""
    broken = ("ScorerLock", name) in declared.left_out
    broken = broken or any(
        item.position.file == file and item.severity == "error" for item in declared.diagnostics
    )
    return (
        [f"{file} has mistakes, so it is not overwritten; gitops-dsf validate names them"] if broken else []
    )


def _words(found: Diagnostic, file: str) -> str:
    """A diagnostic as a reason. Its position is added unless it is in the lock, which is not written."""
    place = "" if found.position.file == file else f" ({found.position})"
    hint = f"; {found.hint}" if found.hint else ""
    return f"{found.code}: {found.message}{place}{hint}"


def _moved_hosts(
    *, scorer: DynamicScorer, before: Config, after: Config, allowed: Sequence[str]
) -> Iterator[str]:
    """Yields one reason per host that changed and is not allowed (docs/scores/locks.md#what-is-accepted)."""
    for section, written in (("scoring", scorer.spec.scoring.host), ("source", scorer.spec.source.host)):
        old, new = _host(before, section), _host(after, section)
        if section == "source" and scorer.spec.source.ref is not None:
            continue  # the MetricSource names the host, and the page's has no effect
        if (
            not old
            or not new
            or old == new
            or new == (host_of(written) or written)
            or any(matches(new, pattern) for pattern in allowed)
        ):
            continue
        there, here = printable(old, most=120), printable(new, most=120)
        yield (
            f"{section}.host moves from {there} to {here}; write {section}.host into the scorer, or"
            f" add {here} to spec.allowedHosts in gitops-dsf.yaml, if that is meant"
        )


def _host(config: Config, section: str) -> str:
    url = str(config.get(section, {}).get("host", ""))
    return host_of(url) or url
