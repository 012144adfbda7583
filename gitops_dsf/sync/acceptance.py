"""Decides which new locks a repository can accept, by the rules of `validate`: each alone first, then all
together. Pure.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.load import SETTINGS_FILE, Loaded, load_text
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _Applied:
    """A repository with the locks of some candidates."""

    candidates: tuple[Candidate, ...]
    texts: Mapping[str, str]
    """The changed files, by path."""
    findings: Sequence[Diagnostic]


class LockChecker:
    """Checks candidates against one repository. `texts` are the lock files that exist, by file."""

    def __init__(self, *, loaded: Loaded, texts: Mapping[str, str]) -> None:
        self._loaded = loaded
        self._texts = texts
        self._last: _Applied | None = None
        self._before = Counter(_key(item) for item in _errors(self._applied(()).findings))

    def accept(self, candidates: Sequence[Candidate]) -> Acceptance:
        """Refuses candidates that cause new errors. Of candidates that conflict, the first by name is
        accepted.
        """
        refused: dict[str, tuple[Diagnostic, ...]] = {}
        fine: list[Candidate] = []
        for candidate in sorted(candidates, key=lambda item: item.name):
            errors = self._alone(candidate)
            if errors:
                refused[candidate.name] = errors
            else:
                fine.append(candidate)
        accepted: list[Candidate] = []
        self._together(fine, accepted, refused)
        applied = self._applied(accepted)
        warnings = {
            item.name: tuple(found for found in self._about(item, applied.findings) if not _is_error(found))
            for item in accepted
        }
        return Acceptance(files=applied.texts, refused=refused, warnings=warnings)

    def _together(
        self,
        candidates: list[Candidate],
        accepted: list[Candidate],
        refused: dict[str, tuple[Diagnostic, ...]],
    ) -> None:
        """Adds candidates to `accepted` or `refused` by bisection. Name collisions and broken references show
        only in the whole repository.
        """
        if not candidates:
            return
        errors = self._new_errors([*accepted, *candidates])
        if not errors:
            accepted += candidates
        elif len(candidates) == 1:
            refused[candidates[0].name] = errors
        else:
            middle = len(candidates) // 2
            self._together(candidates[:middle], accepted, refused)
            self._together(candidates[middle:], accepted, refused)

    def _alone(self, candidate: Candidate) -> tuple[Diagnostic, ...]:
        """New errors about the lock or its scorer in a repository that holds nothing else."""
        lock = load_text(candidate.updated(""), file=candidate.file)
        settings = [item for item in self._loaded.documents if item.file == SETTINGS_FILE]
        loaded = Loaded(
            documents=(*settings, candidate.scorer.document, *lock.documents), diagnostics=lock.diagnostics
        )
        without = Loaded(documents=(*settings, candidate.scorer.document), diagnostics=())
        known = Counter(_key(item) for item in _errors(resolve(declare(without))[1]))
        mine = {candidate.file, candidate.scorer.document.file}
        return tuple(
            item
            for item in _errors(resolve(declare(loaded))[1])
            if item.position.file in mine and not known[_key(item)]
        )

    def _new_errors(self, candidates: Sequence[Candidate]) -> tuple[Diagnostic, ...]:
        seen = Counter(self._before)
        found = []
        for item in _errors(self._applied(candidates).findings):
            seen[_key(item)] -= 1
            if seen[_key(item)] < 0:
                found.append(item)
        return tuple(found)

    def _written(self, candidates: Sequence[Candidate]) -> dict[str, str]:
        texts: dict[str, str] = {}
        for item in candidates:
            texts[item.file] = item.updated(texts.get(item.file, self._texts.get(item.file, "")))
        return texts

    def _applied(self, candidates: Sequence[Candidate]) -> _Applied:
        """The last result is kept: when no candidate is refused, all of them are asked for twice."""
        if self._last is None or self._last.candidates != tuple(candidates):
            texts = self._written(candidates)
            self._last = _Applied(candidates=tuple(candidates), texts=texts, findings=self._findings(texts))
        return self._last

    def _findings(self, texts: Mapping[str, str]) -> list[Diagnostic]:
        """What `validate` would report if these files were written."""
        return resolve(declare(self._loaded.with_files(texts)))[1]

    def _about(self, candidate: Candidate, findings: Sequence[Diagnostic]) -> list[Diagnostic]:
        return [item for item in findings if item.position.file == candidate.file]


def _errors(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    return [item for item in findings if _is_error(item)]


def _is_error(item: Diagnostic) -> bool:
    return item.severity is Severity.ERROR


def _key(item: Diagnostic) -> tuple[str, str, str]:
    """Identity of a finding before and after a change. Line numbers are left out because they can shift."""
    return item.code, item.position.file, item.message
