"""Changes of locks when pages or a hub have other configurations. Pure.

It decides which locks change, and which are refused by the rules of `validate`.

Guaranteed: a lock is refused for an error that the repository has not had before. Errors that are
there already stop nothing, because `sync` must work in a repository that is being repaired.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.globs import matches
from gitops_dsf.hub.drift import Config, ConfigChange, drift, filled, flat
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import findings
from gitops_dsf.resolve.context import context_of
from gitops_dsf.sync.lockfile import lock_file, updated
from gitops_dsf.urls.parts import host_of


class LockState(StrEnum):
    """The result for a lock."""

    UNCHANGED = "unchanged"
    NEW = "new"
    """There was no lock before."""
    CHANGED = "changed"
    REFUSED = "refused"
    """The page could not be read or was not accepted. The old lock stays."""
    UNUSED = "unused"
    """No scorer uses this lock. It stays until a person removes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LockResult:
    """The result for one scorer's lock."""

    scorer: str
    verdict: LockState
    file: str
    """Path of the lock file, relative to the repository, with forward slashes. The file may not
    exist yet.
    """
    url: str = ""
    """The /config page that was requested; empty if none was."""
    changes: tuple[ConfigChange, ...] = ()
    reasons: tuple[str, ...] = ()
    """The reasons why the page was refused, or why the lock is unused."""
    notes: tuple[str, ...] = ()
    """Warnings about what was accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncPlan:
    """Results sorted by scorer, and the new text of every lock file that changes, by path."""

    outcomes: tuple[LockResult, ...]
    files: Mapping[str, str]
    unreached: tuple[LockResult, ...] = ()
    """Locks whose page is that of a Service, which can be reached in its cluster only, and not from
    here.
    """

    @property
    def refused(self) -> bool:
        """Whether a lock is refused."""
        return any(result.verdict is LockState.REFUSED for result in self.outcomes)


def weigh(
    *,
    loaded: Loaded,
    declared: Declared,
    texts: Mapping[str, str],
    answers: Mapping[str, Config | str],
) -> SyncPlan:
    """Decides about the locks of the Full scorers that are named in `answers`.

    An answer is a configuration, or the reason why there is none. `texts` are the existing lock
    files, by path. A configuration that causes errors that the repository has not had before is
    refused. Of those that conflict, the first by name is accepted.
    """
    locks = {lock.name: lock for lock in declared.locks}
    candidates: dict[str, Config] = {}
    outcomes: dict[str, LockResult] = {}
    scorers = {scorer.name: scorer.value for scorer in declared.scorers}
    for name, scorer in sorted(scorers.items()):
        if name not in answers:
            continue
        answer = answers[name]
        outcomes[name] = _judged(declared, scorer, name=name, locks=locks, answer=answer)
        is_written = outcomes[name].verdict in {LockState.NEW, LockState.CHANGED}
        if is_written and not isinstance(answer, str):
            candidates[name] = answer
    files = _accept(candidates, outcomes, loaded=loaded, texts=texts)
    return SyncPlan(outcomes=tuple(outcomes.values()), files=files)


def new_errors(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The errors that were not there before. Line numbers do not count, because they can shift."""
    # The same mistake may be in a file several times.
    earlier = Counter(_without_line(finding) for finding in before)
    errors = []
    for finding in after:
        key = _without_line(finding)
        earlier[key] -= 1
        if finding.severity is Severity.ERROR and earlier[key] < 0:
            errors.append(finding)
    return errors


def _judged(
    declared: Declared,
    scorer: DynamicScorer,
    *,
    name: str,
    locks: Mapping[str, Item[ScorerLock]],
    answer: Config | str,
) -> LockResult:
    """The effect of an answer on the lock of a scorer, before the rules of `validate`."""
    lock = locks.get(name)
    file = lock_file(name, locks)
    url = scorer.spec.config_url
    before: Config = {}
    old: dict[str, object] = {"config": before}
    if lock is not None:
        before = filled(lock.value.spec.config.model_dump(mode="json"))
        old = {"config": before, "configURL": lock.value.spec.config_url}
    reasons = _broken_lock(declared, name, file)
    changes: tuple[ConfigChange, ...] = ()
    if isinstance(answer, str):
        reasons.append(answer)
    else:
        reasons += _moved_hosts(declared, scorer=scorer, before=before, after=answer)
        changes = drift(flat(old), flat({"config": answer, "configURL": url}))
    verdict = LockState.UNCHANGED
    if reasons:
        verdict = LockState.REFUSED
    elif changes:
        verdict = LockState.NEW if lock is None else LockState.CHANGED
    return LockResult(
        scorer=name,
        verdict=verdict,
        file=file,
        url=url,
        changes=() if reasons else changes,
        reasons=tuple(reasons),
    )


def _accept(
    candidates: Mapping[str, Config],
    outcomes: dict[str, LockResult],
    *,
    loaded: Loaded,
    texts: Mapping[str, str],
) -> dict[str, str]:
    """The lock files with the candidates that cause no new errors.

    Notes the refused in `outcomes`.
    """

    def text_with(names: Iterable[str]) -> dict[str, str]:
        changed: dict[str, str] = {}
        for name in names:
            file = outcomes[name].file
            # A file may hold the locks of several scorers.
            text = changed.get(file, texts.get(file, ""))
            changed[file] = updated(
                text, scorer=name, config_url=outcomes[name].url, config=candidates[name]
            )
        return changed

    # Where no page changed, nothing is written, and the repository needs no check.
    before = _findings(loaded) if candidates else []
    accepted: list[str] = []
    files: dict[str, str] = {}
    after: Sequence[Diagnostic] = ()
    # All are checked together, and the half of those that cause an error is tried first: a check of
    # a large repository takes half a second, and hundreds of pages change at once.
    waiting = [list(candidates)] if candidates else []
    while waiting:
        tried = waiting.pop()
        changed = text_with([*accepted, *tried])
        with_them = _findings(loaded.with_files(changed))
        errors = new_errors(before, with_them)
        if not errors:
            accepted += tried
            files = changed
            after = with_them
        elif len(tried) == 1:
            result = outcomes[tried[0]]
            reasons = tuple(_words(error, result.file) for error in errors)
            outcomes[tried[0]] = replace(result, verdict=LockState.REFUSED, reasons=reasons)
        else:
            middle = len(tried) // 2
            waiting += [tried[middle:], tried[:middle]]
    for name in accepted:
        outcomes[name] = replace(outcomes[name], notes=tuple(_warnings(outcomes[name].file, after)))
    return files


def _warnings(file: str, findings: Iterable[Diagnostic]) -> Iterator[str]:
    """The warnings about a file, in words."""
    for finding in findings:
        if finding.position.file == file and finding.severity is not Severity.ERROR:
            yield _words(finding, file)


def _findings(loaded: Loaded) -> list[Diagnostic]:
    """While a lock is missing, `validate` says nothing of a mask for an unknown score.

    Otherwise whichever lock comes last would be refused for such a mask, instead of the one that
    takes the score away.
    """
    return findings(context_of(declare(loaded), locks_are_final=True))


def _without_line(finding: Diagnostic) -> tuple[str, str, str]:
    return finding.code, finding.position.file, finding.message


def _broken_lock(declared: Declared, name: str, file: str) -> list[str]:
    """The result for a lock file that cannot be parsed. It is not overwritten."""
    is_broken = ("ScorerLock", name) in declared.left_out or any(
        finding.position.file == file and finding.severity is Severity.ERROR
        for finding in declared.diagnostics
    )
    if not is_broken:
        return []
    return [f"{file} has mistakes, so it is not overwritten; gitops-dsf validate names them"]


def _words(finding: Diagnostic, file: str) -> str:
    """A finding as a reason.

    Its position is added unless it is in the lock, which is not written.
    """
    is_elsewhere = finding.position.file != file
    message = f"{finding.message} ({finding.position})" if is_elsewhere else finding.message
    if finding.hint:
        return f"{finding.code}: {message}; {finding.hint}"
    return f"{finding.code}: {message}"


def _moved_hosts(
    declared: Declared, *, scorer: DynamicScorer, before: Config, after: Config
) -> Iterator[str]:
    """Yields one reason per host that changed and is not allowed.

    See docs/scores/locks.md#what-is-accepted.
    """
    allowed: Sequence[str] = ()
    if declared.repository is not None:
        allowed = declared.repository.value.spec.allowed_hosts
    spec = scorer.spec
    for section, declared_host in (("scoring", spec.scoring.host), ("source", spec.source.host)):
        # Its MetricSource names the host, and the page's has no effect.
        if section == "source" and spec.source.ref is not None:
            continue
        old = _host(before, section)
        new = _host(after, section)
        # In a first lock nothing moves: people review its host as a whole.
        if not old or not new or old == new:
            continue
        is_declared = new == (host_of(declared_host) or declared_host)
        if is_declared or any(matches(new, pattern) for pattern in allowed):
            continue
        old_text = printable(old, max_characters=120)
        new_text = printable(new, max_characters=120)
        yield (
            f"{section}.host moves from {old_text} to {new_text}; write {section}.host into the"
            f" scorer, or add {new_text} to spec.allowedHosts in gitops-dsf.yaml, if that is meant"
        )


def _host(config: Config, section: str) -> str:
    """The host of a section; what is written there if that is not a URL."""
    url = str(config.get(section, {}).get("host", ""))
    return host_of(url) or url
