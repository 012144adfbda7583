"""Compares a hub's objects with a repository: what is new, changed, or only in git."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from pydantic import ValidationError

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Severity
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.drift import Config, ConfigError, read_config
from gitops_dsf.hub.namespaces import Platform
from gitops_dsf.importer.manifest import (
    ImportSelection,
    Object,
    differing,
    is_rendered,
    manifest,
    name_of,
    update,
    why_not_taken,
)
from gitops_dsf.repository.files import read_text
from gitops_dsf.repository.load import Document, Loaded, value_at
from gitops_dsf.repository.load.paths import FOLDER_OF_KIND
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.foreign import BUILT_IN_SETS
from gitops_dsf.repository.model.repository import NO_SETTINGS, FleetRepository
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.repository.yamledit import YamlFile, appended
from gitops_dsf.sync.lockfile import lock_file
from gitops_dsf.sync.locks import LockState, weigh

_KINDS: Final = ("DynamicScorer", "DynamicScoringConfig", "ManagedCluster", "ManagedClusterSet")
_MIRRORED: Final = ("ManagedCluster", "ManagedClusterSet")
"""The inventory follows the hub. Of scorers and masks only those are taken that git lacks."""

_LONGEST: Final = 200
"""Characters of an object's name in a file name. File systems accept 255 bytes."""

Key = tuple[str, str]


Synced = tuple[str, object]
"""URL of the /config page of a DynamicScorer with configSyncMode Full, and status.lastSyncedConfig.
"""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class ImportLine:
    """What happened to one object. `file` is relative to the repository."""

    kind: str
    name: str
    file: str
    changes: tuple[str, ...] = ()
    """Changes in words; empty for a new object."""


@dataclass(kw_only=True)
class Import:
    """A planned import.

    Nothing is written yet: `files` holds the new text of every file that changes.
    """

    root: Path
    files: dict[str, str] = field(default_factory=dict)
    added: list[ImportLine] = field(default_factory=list)
    changed: list[ImportLine] = field(default_factory=list)
    differing: list[ImportLine] = field(default_factory=list)
    """Scorers and masks that differ between git and the hub. Git's are kept."""
    refused: list[ImportLine] = field(default_factory=list)
    """Locks that were not accepted, clusters that git must not hold, and objects of another version
    or name; `changes` says why.
    """
    not_joined: list[ImportLine] = field(default_factory=list)
    """Clusters that are being deleted, or that nobody has accepted; `changes` says which."""
    missing: list[ImportLine] = field(default_factory=list)
    """In git but not on the hub. They are reported and never deleted."""
    unchanged: int = 0
    skipped: list[str] = field(default_factory=list)
    """Kinds that were skipped, with their number, such as `3 ManagedClusterAddOn`."""


def take(
    root: Path,
    objects: Iterable[Mapping[str, Any]],
    *,
    selection: ImportSelection,
    overwrite: bool = False,
    loaded: Loaded | None = None,
    without: Mapping[str, str] = MappingProxyType({}),
) -> Import:
    """Plans an import; writes nothing.

    With `overwrite`, the hub's scorers and masks also replace those of git. `loaded` is the
    repository, if it was read already. `without` are clusters that are refused, by name, and why.
    Raises RepositoryError when something cannot be read, or when there is nothing to import.
    """
    taker = _Taker(
        root, loaded or load(root), selection=selection, overwrite=overwrite, without=without
    )
    for data in objects:
        taker.add(data)
    return taker.result()


def _readable(loaded: Loaded) -> Loaded:
    """Raises RepositoryError if a file cannot be read."""
    broken = [
        item
        for item in loaded.diagnostics
        if item.severity is Severity.ERROR and item.position.file != "gitops-dsf.yaml"
    ]
    if broken:
        places = "\n".join(f"  {item.position}: {item.message}" for item in broken[:5])
        raise RepositoryError(
            "these files cannot be read, so they cannot be updated; correct them first (gitops-dsf"
            " validate"
            f" says more):\n{places}"
        )
    return loaded


class _Taker:
    def __init__(
        self,
        root: Path,
        loaded: Loaded,
        *,
        selection: ImportSelection,
        overwrite: bool,
        without: Mapping[str, str],
    ) -> None:
        self.found = Import(root=root)
        self.loaded = _readable(loaded)
        self.without = without
        self.existing: dict[Key, Document] = {}
        for document in self.loaded.documents:
            self.existing.setdefault((document.kind, document.name), document)
        self.selection = selection.and_asked_for(self.existing.values())
        self.platform = _platform(self.loaded.documents)
        self.overwrite = overwrite
        self.synced: dict[str, Synced] = {}
        self.seen: set[Key] = set()
        self.skipped: Counter[str] = Counter()
        self.new: dict[str, list[Object]] = {}
        self.edited: dict[str, YamlFile] = {}
        self.touched: set[str] = set()

    def add(self, data: Mapping[str, Any]) -> None:
        kind = str(data.get("kind") or "object without a kind")
        if kind not in _KINDS:
            self.skipped[kind] += 1
            return
        if is_rendered(data):
            self.skipped[f"{kind} that gitops-dsf rendered"] += 1
            return
        key = (kind, name_of(data))
        if key in self.seen:
            raise RepositoryError(
                f"{kind} {key[1]} is in the input twice; give one state of the hub"
            )
        self.seen.add(key)
        document = self.existing.get(key)
        value = manifest(data, _and_known(self.selection, document))
        if kind == "ManagedCluster" and self._left_out(data, key[1], document):
            return
        if value is None:
            if key[1] not in BUILT_IN_SETS:
                line = ImportLine(
                    kind=kind, name=key[1], file=_file_of(*key), changes=(why_not_taken(data),)
                )
                self.found.refused.append(line)
            return
        if kind == "DynamicScorer" and (config := synced(data)) is not None:
            self.synced[key[1]] = config
        if document is None:
            self._add_new(kind, value)
        else:
            self._edit(document, value)

    def _left_out(self, data: Mapping[str, Any], name: str, document: Document | None) -> bool:
        """Whether a cluster is not taken. The others are."""
        lines, why = self.found.refused, self.without.get(name, "")
        if (owner := self.platform.owner_of(name)) is not None:
            # With it the repository would not validate (DSF210).
            why = f"the hub's namespace {name} belongs to {owner.owner} ({owner.reason})"
        elif value_at(data, ("metadata", "deletionTimestamp")) is not None:
            lines, why = self.found.not_joined, "it is being deleted on the hub"
        elif document is None and value_at(data, ("spec", "hubAcceptsClient")) is not True:
            # Any cluster that reaches the hub can ask to join under any name.
            lines, why = (
                self.found.not_joined,
                "nobody has accepted it on the hub (spec.hubAcceptsClient)",
            )
        if not why:
            return False
        file = _file_of("ManagedCluster", name) if document is None else document.file
        lines.append(ImportLine(kind="ManagedCluster", name=name, file=file, changes=(why,)))
        return True

    def result(self) -> Import:
        if not self.seen:
            there = f"; it holds {', '.join(self._skips())}" if self.skipped else ""
            raise RepositoryError(
                f"there is no {', '.join(_KINDS[:-1])} or {_KINDS[-1]} in the input{there}"
            )
        found = self.found
        found.files |= {file: self.edited[file].text for file in sorted(self.touched)}
        for file, documents in self.new.items():
            text = found.files.get(file) or self._text(file)
            for document in documents:
                text = appended(text, emit(document))
            found.files[file] = text
        if self.synced:
            self._locks()
        # Only kinds that the input contains: a list of clusters does not tell which scorers exist.
        kinds = {kind for kind, _ in self.seen} & {*_MIRRORED}
        found.missing += [
            ImportLine(file=item.file, kind=item.kind, name=item.name)
            for key, item in self.existing.items()
            if key[0] in kinds and key not in self.seen
        ]
        for lines in (
            found.added,
            found.changed,
            found.differing,
            found.refused,
            found.not_joined,
            found.missing,
        ):
            lines.sort()
        found.skipped = self._skips()
        return found

    def _add_new(self, kind: str, value: Object) -> None:
        name = value["metadata"]["name"]
        # If a file of that name holds something else, the document is appended to it.
        file = _file_of(kind, name)
        self.new.setdefault(file, []).append(value)
        self.found.added.append(ImportLine(file=file, kind=kind, name=name))

    def _edit(self, document: Document, value: Object) -> None:
        # In a fleet of thousands, nearly every file is up to date, and parsing all of them for editing takes
        # minutes.
        if not differing(document.data, value) or _means_the_same(document, value):
            self.found.unchanged += 1
            return
        may_write = document.kind in _MIRRORED or self.overwrite
        editor = self.edited.get(document.file) if may_write else None
        if editor is None:
            editor = YamlFile(self._text(document.file))
        if may_write:
            self.edited[document.file] = editor
        target = editor.find(document.kind, document.name)
        if target is None:
            raise RepositoryError(
                f"{document.position}: {document.kind} {document.name} cannot be edited; write it"
                " without aliases and merge keys"
            )
        changes = tuple(update(target, value))
        line = ImportLine(
            file=document.file, kind=document.kind, name=document.name, changes=changes
        )
        if may_write:
            self.touched.add(document.file)
            self.found.changed.append(line)
        else:
            self.found.differing.append(line)

    def _locks(self) -> None:
        """Plans new locks for a repository with the imported scorers, by the rules of `sync`."""
        found = self.found
        loaded = self.loaded.with_files(found.files)
        declared = declare(loaded)
        locked = {item.name: item for item in declared.locks}
        answers: dict[str, Config | str] = {}
        for scorer in declared.scorers:
            known, spec = self.synced.get(scorer.name), scorer.value.spec
            # A page that git's scorer does not name is ignored.
            if known is None or not spec.reads_config or known[0] != spec.config_url:
                continue
            # People accepted the locks that git has.
            if self.overwrite or scorer.name not in locked:
                try:
                    where = f"status.lastSyncedConfig of DynamicScorer {scorer.name}"
                    answers[scorer.name] = read_config(known[1], where=where)
                except ConfigError as error:
                    answers[scorer.name] = str(error)
        files = {lock_file(name, locked) for name in answers}
        texts = {file: text for file in files if (text := self._text(file))}
        plan = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
        for item in plan.outcomes:
            changes = tuple(
                f"{change.field}: {change.before} -> {change.after}" for change in item.changes
            )
            for verdict, lines, words in (
                (LockState.NEW, found.added, ()),
                (LockState.CHANGED, found.changed, changes),
                (LockState.REFUSED, found.refused, item.reasons),
            ):
                if item.verdict is verdict:
                    lines.append(
                        ImportLine(
                            file=item.file, kind="ScorerLock", name=item.scorer, changes=words
                        )
                    )
        found.files |= plan.files

    def _text(self, file: str) -> str:
        return read_text(self.found.root, file) if (self.found.root / file).exists() else ""

    def _skips(self) -> list[str]:
        return [f"{count} {what}" for what, count in sorted(self.skipped.items())]


def _platform(documents: Iterable[Document]) -> Platform:
    """The namespaces of the platform by the settings; by their defaults if they cannot be read."""
    for document in documents:
        if document.kind == "FleetRepository":
            try:
                return FleetRepository.model_validate(document.data).spec.platform
            except ValidationError:
                break
    return NO_SETTINGS.platform


def _file_of(kind: str, name: str) -> str:
    """The file that a new object is written to."""
    return (
        f"{FOLDER_OF_KIND[kind]}/{'sets' if kind == 'ManagedClusterSet' else name[:_LONGEST]}.yaml"
    )


def _means_the_same(document: Document, value: Object) -> bool:
    """Whether two scorers or masks differ only in defaults, which the API server writes out."""
    if document.kind in _MIRRORED:
        return False
    model = KINDS[value["apiVersion"], value["kind"]]
    try:
        ours, theirs = (
            model.model_validate({**item, "metadata": {"name": "same"}})
            for item in (document.data, value)
        )
    except ValidationError:
        return False
    return ours == theirs


def _and_known(selection: ImportSelection, document: Document | None) -> ImportSelection:
    """The selection, extended by what the file of a cluster already holds."""
    if document is None or document.kind != "ManagedCluster":
        return selection
    labels = value_at(document.data, ("metadata", "labels")) or {}
    claims = value_at(document.data, ("status", "clusterClaims")) or []
    resources = bool(
        value_at(document.data, ("status", "allocatable"))
        or value_at(document.data, ("status", "capacity"))
    )
    return selection.and_names(
        labels=labels if isinstance(labels, Mapping) else (),
        claims=[
            claim["name"]
            for claim in claims
            if isinstance(claim, Mapping) and isinstance(claim.get("name"), str)
        ],
        resources=resources,
    )


def synced(data: Mapping[str, Any]) -> Synced | None:
    """What the hub knows of a scorer's /config; None if the page is not used or was never read."""
    config = value_at(data, ("status", "lastSyncedConfig"))
    if config is None or value_at(data, ("spec", "configSyncMode")) != "Full":
        return None
    return str(value_at(data, ("spec", "configURL"))), config
