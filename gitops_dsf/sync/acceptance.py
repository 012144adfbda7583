"""Decides which new locks a repository can accept, by the rules of `validate`. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.resolve import resolve
from gitops_dsf.sync.lockfile import updated


@dataclass(frozen=True, eq=False, kw_only=True, slots=True)
class Candidate:
    """A lock made from a /config page. Its name is that of the scorer."""

    scorer: Item[DynamicScorer]
    file: str
    config: Config


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """The new texts of lock files by path, the errors of refused candidates by scorer, and what `validate`
    says of the repository then.
    """

    files: Mapping[str, str]
    refused: Mapping[str, Sequence[Diagnostic]]
    findings: Sequence[Diagnostic]


def accept(candidates: Sequence[Candidate], *, loaded: Loaded, texts: Mapping[str, str]) -> Acceptance:
    """Refuses candidates that cause errors that the repository has not had before. Of candidates that
    conflict, the first by name is accepted. `texts` are the lock files that exist, by file.
    """
    before = Counter(map(_key, _findings(loaded))) if candidates else Counter()
    accepted: list[Candidate] = []
    refused: dict[str, Sequence[Diagnostic]] = {}
    files: Mapping[str, str] = {}
    findings: Sequence[Diagnostic] = ()
    # All are checked together, and the half of those that cause an error is tried first.
    waiting = [sorted(candidates, key=lambda item: item.scorer.name)] if candidates else []
    while waiting:
        tried = waiting.pop()
        written = _written([*accepted, *tried], texts)
        found = _findings(loaded.with_files(written))
        errors = _new_errors(found, before)
        if not errors:
            accepted += tried
            files, findings = written, found
        elif len(tried) == 1:
            refused[tried[0].scorer.name] = errors
        else:
            middle = len(tried) // 2
            waiting += [tried[middle:], tried[:middle]]
    return Acceptance(files=files, refused=refused, findings=findings)


def _findings(loaded: Loaded) -> list[Diagnostic]:
    """While a lock is missing, `validate` says nothing of a mask for an unknown score. Otherwise whichever
    lock comes last would be refused for such a mask, instead of the one that takes the score away.
    """
    return resolve(declare(loaded), locks_are_final=True)[1]


def _written(candidates: Sequence[Candidate], texts: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in candidates:
        text, url = found.get(item.file, texts.get(item.file, "")), item.scorer.value.spec.config_url
        found[item.file] = updated(text, scorer=item.scorer.name, config_url=url, config=item.config)
    return found


def _new_errors(findings: Sequence[Diagnostic], before: Counter[tuple[str, str, str]]) -> list[Diagnostic]:
    left = before.copy()
    found = []
    for item in findings:
        left[_key(item)] -= 1
        if item.severity is Severity.ERROR and left[_key(item)] < 0:
            found.append(item)
    return found


def _key(item: Diagnostic) -> tuple[str, str, str]:
    """Identity of a finding before and after a change. Line numbers are left out because they can shift."""
    return item.code, item.position.file, item.message
