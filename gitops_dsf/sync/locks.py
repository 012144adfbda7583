"""What becomes of locks when pages or a hub say other configurations.

It decides which locks change, and which are refused by the rules of `validate`. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from ruamel.yaml.comments import CommentedMap

from dsf_wire.text import printable
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.globs import matches
from gitops_dsf.hub.drift import Config, ConfigChange, drift, filled, flat
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.yamledit import YamlFile, appended, mirror, owned, written
from gitops_dsf.resolve import findings
from gitops_dsf.resolve.context import context_of
from gitops_dsf.urls.parts import host_of

HEADER: Final = """\
# yaml-language-server: $schema=../.schemas/gitops-dsf.json
# What the /config page of the scorer with this name said when it was last accepted. `gitops-dsf sync` writes it; review its changes.
"""  # noqa: E501


class LockState(StrEnum):
    """What happens to a lock."""

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
    """Why the page was refused, or why the lock is unused."""
    notes: tuple[str, ...] = ()
    """Warnings about what was accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SyncPlan:
    """Results sorted by scorer, and the new text of every lock file that changes, by path."""

    outcomes: tuple[LockResult, ...]
    files: Mapping[str, str]
    unreached: tuple[LockResult, ...] = ()
    """Those whose page is that of a Service, which can be reached in its cluster only, and not from
    here.
    """

    @property
    def refused(self) -> bool:
        return any(item.verdict is LockState.REFUSED for item in self.outcomes)


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
    locks = {item.name: item for item in declared.locks}
    allowed = (
        declared.repository.value.spec.allowed_hosts if declared.repository is not None else []
    )
    candidates: dict[str, Config] = {}
    outcomes: dict[str, LockResult] = {}
    scorers = {item.name: item.value for item in declared.scorers if item.name in answers}
    for name, scorer in sorted(scorers.items()):
        file, lock, answer = lock_file(name, locks), locks.get(name), answers[name]
        url = scorer.spec.config_url
        before = {} if lock is None else filled(lock.value.spec.config.model_dump(mode="json"))
        reasons = _broken_lock(declared, name, file)
        changes: tuple[ConfigChange, ...] = ()
        if isinstance(answer, str):
            reasons.append(answer)
        else:
            reasons += _moved_hosts(scorer=scorer, before=before, after=answer, allowed=allowed)
            old = {"config": before} | (
                {} if lock is None else {"configURL": lock.value.spec.config_url}
            )
            changes = drift(flat(old), flat({"config": answer, "configURL": url}))
            if changes and not reasons:
                candidates[name] = answer
        verdict = LockState.UNCHANGED
        if reasons:
            verdict = LockState.REFUSED
        elif changes:
            verdict = LockState.NEW if lock is None else LockState.CHANGED
        outcomes[name] = LockResult(
            scorer=name,
            verdict=verdict,
            file=file,
            url=url,
            changes=() if reasons else changes,
            reasons=tuple(reasons),
        )
    files = _accept(candidates, outcomes, loaded=loaded, texts=texts)
    return SyncPlan(outcomes=tuple(outcomes.values()), files=files)


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
        found: dict[str, str] = {}
        for name in names:
            item = outcomes[name]
            text = found.get(item.file, texts.get(item.file, ""))
            found[item.file] = updated(
                text, scorer=name, config_url=item.url, config=candidates[name]
            )
        return found

    before = _findings(loaded) if candidates else []
    accepted: list[str] = []
    files: dict[str, str] = {}
    findings: Sequence[Diagnostic] = ()
    # All are checked together, and the half of those that cause an error is tried first.
    waiting = [list(candidates)] if candidates else []
    while waiting:
        tried = waiting.pop()
        text = text_with([*accepted, *tried])
        found = _findings(loaded.with_files(text))
        errors = new_errors(before, found)
        if not errors:
            accepted += tried
            files, findings = text, found
        elif len(tried) == 1:
            item = outcomes[tried[0]]
            why = tuple(_words(each, item.file) for each in errors)
            outcomes[item.scorer] = replace(item, verdict=LockState.REFUSED, reasons=why)
        else:
            middle = len(tried) // 2
            waiting += [tried[middle:], tried[:middle]]
    for name in accepted:
        file = outcomes[name].file
        warnings = (each for each in findings if each.position.file == file)
        notes = tuple(
            _words(each, file) for each in warnings if each.severity is not Severity.ERROR
        )
        outcomes[name] = replace(outcomes[name], notes=notes)
    return files


def lock_file(name: str, locks: Mapping[str, Item[ScorerLock]]) -> str:
    """The path of a scorer's lock, which may not exist yet."""
    return locks[name].document.file if name in locks else f"locks/{name}.yaml"


def updated(text: str, *, scorer: str, config_url: str, config: Config) -> str:
    """The text of a lock file (YAML, or empty) with the scorer's lock.

    Comments and other documents stay.
    """
    spec = {"config": config, "configURL": config_url}
    file = YamlFile(text)
    document: Any = file.find("ScorerLock", scorer)
    is_new = document is None
    if is_new:
        document = CommentedMap(apiVersion="gitops-dsf.io/v1alpha1", kind="ScorerLock")
        document["metadata"] = CommentedMap(name=owned(scorer))
    if not isinstance(document.get("spec"), CommentedMap):
        document["spec"] = CommentedMap()
    list(mirror(document["spec"], spec))
    if not is_new:
        return file.text
    return appended(text, written(document)) if text.strip() else HEADER + written(document)


def new_errors(before: Iterable[Diagnostic], after: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The errors that were not there before. Line numbers do not count, because they can shift."""
    left = Counter((item.code, item.position.file, item.message) for item in before)
    found = []
    for item in after:
        key = item.code, item.position.file, item.message
        left[key] -= 1
        if item.severity is Severity.ERROR and left[key] < 0:
            found.append(item)
    return found


def _findings(loaded: Loaded) -> list[Diagnostic]:
    """While a lock is missing, `validate` says nothing of a mask for an unknown score.

    Otherwise whichever lock comes last would be refused for such a mask, instead of the one that
    takes the score away.
    """
    return findings(context_of(declare(loaded), locks_are_final=True))


def _broken_lock(declared: Declared, name: str, file: str) -> list[str]:
    """A lock file that cannot be parsed is not overwritten, because somebody edited it."""
    broken = ("ScorerLock", name) in declared.left_out
    broken = broken or any(
        item.position.file == file and item.severity == "error" for item in declared.diagnostics
    )
    return (
        [f"{file} has mistakes, so it is not overwritten; gitops-dsf validate names them"]
        if broken
        else []
    )


def _words(found: Diagnostic, file: str) -> str:
    """A diagnostic as a reason.

    Its position is added unless it is in the lock, which is not written.
    """
    place = "" if found.position.file == file else f" ({found.position})"
    hint = f"; {found.hint}" if found.hint else ""
    return f"{found.code}: {found.message}{place}{hint}"


def _moved_hosts(
    *, scorer: DynamicScorer, before: Config, after: Config, allowed: Sequence[str]
) -> Iterator[str]:
    """Yields one reason per host that changed and is not allowed.

    See docs/scores/locks.md#what-is-accepted.
    """
    for section, said in (
        ("scoring", scorer.spec.scoring.host),
        ("source", scorer.spec.source.host),
    ):
        old, new = _host(before, section), _host(after, section)
        if section == "source" and scorer.spec.source.ref is not None:
            continue  # the MetricSource names the host, and the page's has no effect
        if (
            not old
            or not new
            or old == new
            or new == (host_of(said) or said)
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
