"""Compares configurations with the locks and rules of a repository: which locks change, and which are
refused. Pure.
"""

from collections.abc import Mapping

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.hub.drift import Config, drift, filled, flat
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.sync.acceptance import Candidate, accept
from gitops_dsf.sync.hosts import moved_hosts
from gitops_dsf.sync.result import Change, LockResult, LockState, SyncPlan


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
    outcomes: list[LockResult] = []
    changes: dict[str, tuple[Change, ...]] = {}
    for item in declared.scorers:
        if item.name not in answers:
            continue
        file, lock, answer = lock_file(item.name, locks), locks.get(item.name), answers[item.name]
        before = _said(lock)
        reasons = _broken_lock(declared, item.name, file)
        if isinstance(answer, str):
            reasons.append(answer)
        else:
            reasons += moved_hosts(scorer=item.value, before=before, after=answer, allowed=allowed)
            changes[item.name] = _changes(item.value.spec.config_url, lock, before, answer)
        if reasons or isinstance(answer, str):
            outcomes.append(_outcome(item, LockState.REFUSED, file, reasons=tuple(reasons)))
        elif not changes[item.name]:
            outcomes.append(_outcome(item, LockState.UNCHANGED, file))
        else:
            candidates.append(Candidate(scorer=item, file=file, config=answer))
    acceptance = accept(candidates, loaded=loaded, texts=texts)
    for candidate in candidates:
        verdict = LockState.CHANGED if candidate.name in locks else LockState.NEW
        refused = acceptance.refused.get(candidate.name, ())
        outcomes.append(
            _outcome(
                candidate.scorer,
                LockState.REFUSED if refused else verdict,
                candidate.file,
                changes=changes[candidate.name],
                reasons=tuple(_words(found, candidate.file) for found in refused),
                notes=tuple(
                    _words(found, candidate.file) for found in acceptance.warnings.get(candidate.name, ())
                ),
            )
        )
    return SyncPlan(outcomes=tuple(sorted(outcomes, key=lambda found: found.scorer)), files=acceptance.files)


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


def _said(lock: Item[ScorerLock] | None) -> Config:
    return {} if lock is None else filled(lock.value.spec.config.model_dump(mode="json"))


def _changes(url: str, lock: Item[ScorerLock] | None, before: Config, after: Config) -> tuple[Change, ...]:
    """Changes field by field, below spec."""
    old = flat({"config": before, **({"configURL": lock.value.spec.config_url} if lock is not None else {})})
    new = flat({"config": after, "configURL": url})
    return tuple(
        Change(field=found.field, before=found.before, after=found.after) for found in drift(old, new)
    )


def _outcome(
    item: Item[DynamicScorer],
    verdict: LockState,
    file: str,
    *,
    changes: tuple[Change, ...] = (),
    reasons: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> LockResult:
    url = item.value.spec.config_url
    return LockResult(
        scorer=item.name, verdict=verdict, file=file, url=url, changes=changes, reasons=reasons, notes=notes
    )


def _words(found: Diagnostic, file: str) -> str:
    """A diagnostic as a reason. Its position is added unless it is in the lock, which is not written."""
    place = "" if found.position.file == file else f" ({found.position})"
    hint = f"; {found.hint}" if found.hint else ""
    return f"{found.code}: {found.message}{place}{hint}"
