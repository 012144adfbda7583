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
    """A lock made from a /config page."""

    scorer: Item[DynamicScorer]
    file: str
    config: Config

    @property
    def name(self) -> str:
        """Name of the scorer, which is also the name of its lock."""
        return self.scorer.name

    def updated(self, text: str) -> str:
        """The text of its lock file with the new lock."""
        url = self.scorer.value.spec.config_url
        return updated(text, scorer=self.name, config_url=url, config=self.config)


@dataclass(frozen=True, kw_only=True, slots=True)
class Acceptance:
    """Which candidates were accepted."""

    files: Mapping[str, str]
    """New texts of lock files, by path."""
    refused: Mapping[str, tuple[Diagnostic, ...]]
    """Errors of refused candidates, by scorer."""
    warnings: Mapping[str, tuple[Diagnostic, ...]]
    """Warnings about accepted candidates, by scorer."""


def accept(candidates: Sequence[Candidate], *, loaded: Loaded, texts: Mapping[str, str]) -> Acceptance:
    """Refuses candidates that cause errors that the repository has not had before. Of candidates that
    conflict, the first by name is accepted. `texts` are the lock files that exist, by file.
    """
    before = Counter(_key(item) for item in _errors(resolve(declare(loaded))[1])) if candidates else Counter()
    accepted: list[Candidate] = []
    refused: dict[str, tuple[Diagnostic, ...]] = {}
    files: Mapping[str, str] = {}
    findings: Sequence[Diagnostic] = ()
    # All are checked together, and the half of those that cause an error is tried first.
    waiting = [sorted(candidates, key=lambda item: item.name)] if candidates else []
    while waiting:
        tried = waiting.pop()
        written = _written([*accepted, *tried], texts)
        found = resolve(declare(loaded.with_files(written)))[1]
        errors = _new(found, before)
        if not errors:
            accepted += tried
            files, findings = written, found
        elif len(tried) == 1:
            refused[tried[0].name] = errors
        else:
            middle = len(tried) // 2
            waiting += [tried[middle:], tried[:middle]]
    warnings = {
        item.name: tuple(
            found for found in findings if found.position.file == item.file and not _is_error(found)
        )
        for item in accepted
    }
    return Acceptance(files=files, refused=refused, warnings=warnings)


def _written(candidates: Sequence[Candidate], texts: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in candidates:
        found[item.file] = item.updated(found.get(item.file, texts.get(item.file, "")))
    return found


def _new(findings: Sequence[Diagnostic], before: Counter[tuple[str, str, str]]) -> tuple[Diagnostic, ...]:
    left = before.copy()
    found = []
    for item in _errors(findings):
        left[_key(item)] -= 1
        if left[_key(item)] < 0:
            found.append(item)
    return tuple(found)


def _errors(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [item for item in findings if _is_error(item)]


def _is_error(item: Diagnostic) -> bool:
    return item.severity is Severity.ERROR


def _key(item: Diagnostic) -> tuple[str, str, str]:
    """Identity of a finding before and after a change. Line numbers are left out because they can shift."""
    return item.code, item.position.file, item.message
