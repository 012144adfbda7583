"""One run of sync over a repository: who is asked, what the answers come to. Reads files and pages, writes nothing."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.errors import RepositoryError, UsageError
from gitops_dsf.repository.load import load
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.sync.admission import Admission, Candidate, Judge
from gitops_dsf.sync.fetch import Fault, Fetcher, Page
from gitops_dsf.sync.hosts import moved_hosts
from gitops_dsf.sync.outcome import Change, Outcome, SyncPlan, Verdict
from gitops_dsf.sync.page import Config, PageError, filled, flat, read_page


async def plan_sync(root: Path, *, fetcher: Fetcher, only: Collection[str] = ()) -> SyncPlan:
    """Asks every Full scorer, or those named, at once. Raises RepositoryError for a folder that cannot be read, UsageError for names."""
    loaded = load(root)
    declared = declare(loaded)
    scorers = _chosen(declared, only)
    locks = {item.name: item for item in declared.locks}
    texts = {file: _text(root, file) for file in {_file(item.name, locks) for item in scorers} if (root / file).exists()}
    answers = await _ask(scorers, fetcher)
    allowed = declared.repository.value.spec.allowed_hosts if declared.repository is not None else []
    candidates: list[Candidate] = []
    outcomes: list[Outcome] = _unreadable(declared, only) + ([] if only else _unused(declared))
    changes: dict[str, tuple[Change, ...]] = {}
    for item in scorers:
        file, lock = _file(item.name, locks), locks.get(item.name)
        answer = answers[item.value.spec.config_url]
        before = _said(lock)
        reasons = _broken_lock(declared, item.name, file)
        if isinstance(answer, str):
            reasons.append(answer)
        else:
            reasons += moved_hosts(scorer=item.value, before=before, after=answer, allowed=allowed)
            changes[item.name] = _changes(item.value.spec.config_url, lock, before, answer)
        if reasons or isinstance(answer, str):
            outcomes.append(_outcome(item, Verdict.REFUSED, file, reasons=tuple(reasons)))
        elif not changes[item.name]:
            outcomes.append(_outcome(item, Verdict.UNCHANGED, file))
        else:
            candidates.append(Candidate(scorer=item, file=file, config=answer))
    admission = Judge(loaded=loaded, texts=texts).admit(candidates) if candidates else Admission(files={}, refused={}, warnings={})
    for candidate in candidates:
        verdict = Verdict.CHANGED if candidate.name in locks else Verdict.NEW
        refused = admission.refused.get(candidate.name, ())
        outcomes.append(
            _outcome(
                candidate.scorer,
                Verdict.REFUSED if refused else verdict,
                candidate.file,
                changes=changes[candidate.name],
                reasons=tuple(_words(found, candidate.file) for found in refused),
                notes=tuple(_words(found, candidate.file) for found in admission.warnings.get(candidate.name, ())),
            )
        )
    return SyncPlan(outcomes=tuple(sorted(outcomes, key=lambda found: (found.scorer, found.verdict))), files=admission.files)


async def _ask(scorers: Collection[Item[DynamicScorer]], fetcher: Fetcher) -> dict[str, Config | str]:
    """URL to what its page says, or why it is refused. Scorers that share a page ask once."""
    urls = sorted({item.value.spec.config_url for item in scorers})
    pages = await asyncio.gather(*(fetcher.get(url) for url in urls))
    return {url: _read(page) for url, page in zip(urls, pages, strict=True)}


def _read(page: Page | Fault) -> Config | str:
    if isinstance(page, Fault):
        return page.message
    try:
        return read_page(page)
    except PageError as error:
        return str(error)


def _chosen(declared: Declared, only: Collection[str]) -> list[Item[DynamicScorer]]:
    known = {item.name: item for item in declared.scorers}
    for name in only:
        if name not in known and ("DynamicScorer", name) not in declared.malformed:
            hint = did_you_mean(name, known)
            msg = f"--scorer {name}: there is no DynamicScorer of this name" + (f"; {hint}" if hint else "")
            raise UsageError(msg)
        if name in known and known[name].value.spec.config_sync_mode != "Full":
            msg = f"--scorer {name}: it has configSyncMode None, so its /config page does not count"
            raise UsageError(msg)
    return [item for name, item in sorted(known.items()) if item.value.spec.config_sync_mode == "Full" and (not only or name in only)]


def _unreadable(declared: Declared, only: Collection[str]) -> list[Outcome]:
    reason = "the DynamicScorer has mistakes, so it is not asked; gitops-dsf validate names them"
    names = sorted(name for kind, name in declared.malformed if kind == "DynamicScorer" and name and (not only or name in only))
    return [Outcome(scorer=name, verdict=Verdict.REFUSED, file=f"locks/{name}.yaml", reasons=(reason,)) for name in names]


def _unused(declared: Declared) -> list[Outcome]:
    """Locks that nobody reads: their scorer is gone, or no longer Full."""
    modes = {item.name: item.value.spec.config_sync_mode for item in declared.scorers}
    found = []
    for item in declared.locks:
        if declared.unreadable or ("DynamicScorer", item.name) in declared.malformed or modes.get(item.name) == "Full":
            continue
        why = "the scorer has configSyncMode None" if item.name in modes else "there is no DynamicScorer of this name"
        reason = f"{why}: the lock is not read; remove it"
        found.append(Outcome(scorer=item.name, verdict=Verdict.UNUSED, file=item.document.file, reasons=(reason,)))
    return found


def _broken_lock(declared: Declared, name: str, file: str) -> list[str]:
    """A file that cannot be understood is not written over: somebody edited it."""
    broken = ("ScorerLock", name) in declared.malformed
    broken = broken or any(item.position.file == file and item.severity == "error" for item in declared.diagnostics)
    return [f"{file} has mistakes, so it is not written over; gitops-dsf validate names them"] if broken else []


def _file(name: str, locks: Mapping[str, Item[ScorerLock]]) -> str:
    return locks[name].document.file if name in locks else f"locks/{name}.yaml"


def _text(root: Path, file: str) -> str:
    try:
        return (root / file).read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{file} cannot be read: {error}"
        raise RepositoryError(msg) from error


def _said(lock: Item[ScorerLock] | None) -> Config:
    return {} if lock is None else filled(lock.value.spec.config.model_dump(mode="json"))


def _changes(url: str, lock: Item[ScorerLock] | None, before: Config, after: Config) -> tuple[Change, ...]:
    """Field by field, below spec."""
    old = flat({"config": before, **({"configURL": lock.value.spec.config_url} if lock is not None else {})})
    new = flat({"config": after, "configURL": url})
    return tuple(
        Change(field=field, before=old.get(field), after=new.get(field))
        for field in sorted(old.keys() | new.keys())
        if old.get(field) != new.get(field)
    )


def _outcome(
    item: Item[DynamicScorer],
    verdict: Verdict,
    file: str,
    *,
    changes: tuple[Change, ...] = (),
    reasons: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Outcome:
    url = item.value.spec.config_url
    return Outcome(scorer=item.name, verdict=verdict, file=file, url=url, changes=changes, reasons=reasons, notes=notes)


def _words(found: Diagnostic, file: str) -> str:
    """A diagnostic as a reason: its place counts only where it is not in the lock, which is not written."""
    place = "" if found.position.file == file else f" ({found.position})"
    hint = f"; {found.hint}" if found.hint else ""
    return f"{found.code}: {found.message}{place}{hint}"
