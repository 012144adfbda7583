"""Compares a hub's objects with a repository: new, changed, and only in git.

Clusters and cluster sets follow the hub. Scorers and masks of git are kept, unless `overwrite` is
asked for.

Guaranteed: nothing is written here, and nothing is ever deleted. A kind that the input does not
contain is not reported as missing. Not guaranteed: that the repository is valid afterwards; `valid`
tries that.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Severity
from gitops_dsf.errors import RepositoryError
from gitops_dsf.hub.drift import Config, ConfigError, read_config
from gitops_dsf.hub.namespaces import Platform
from gitops_dsf.importer.manifest import (
    ImportedObject,
    is_rendered,
    manifest,
    name_of,
    why_not_taken,
)
from gitops_dsf.importer.planned import Import, ImportLine
from gitops_dsf.importer.selection import ImportSelection
from gitops_dsf.importer.update import differing, update
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
from gitops_dsf.sync.locks import LockResult, LockState, weigh
from gitops_dsf.wording import or_text

TAKEN_KINDS: Final = (
    "DynamicScorer",
    "DynamicScoringConfig",
    "ManagedCluster",
    "ManagedClusterSet",
)
"""Kinds that an import takes by default."""
_MIRRORED: Final = ("ManagedCluster", "ManagedClusterSet")
"""The inventory follows the hub. Of scorers and masks only those are taken that git lacks."""
_MAX_NAME: Final = 200
"""Characters of an object's name in a file name. File systems accept 255 bytes."""


class ObjectKey(NamedTuple):
    """The key that names an object, in git and on the hub."""

    kind: str
    name: str


class SyncedConfig(NamedTuple):
    """The hub's knowledge of a scorer's /config page."""

    url: str
    config: object


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


def synced(data: Mapping[str, Any]) -> SyncedConfig | None:
    """The hub's knowledge of a scorer's /config; None if the page is not used or was never read."""
    config = value_at(data, ("status", "lastSyncedConfig"))
    if config is None or value_at(data, ("spec", "configSyncMode")) != "Full":
        return None
    return SyncedConfig(str(value_at(data, ("spec", "configURL"))), config)


class _Taker:
    """Takes one object after the other, and then gives the result."""

    def __init__(
        self,
        root: Path,
        loaded: Loaded,
        *,
        selection: ImportSelection,
        overwrite: bool,
        without: Mapping[str, str],
    ) -> None:
        _check_is_readable(loaded)
        self._import = Import(root=root)
        self._loaded = loaded
        self._without = without
        self._existing: dict[ObjectKey, Document] = {}
        for document in loaded.documents:
            # If two documents have one name, which `validate` reports, the first one counts.
            self._existing.setdefault(ObjectKey(document.kind, document.name), document)
        self._selection = selection.and_asked_for(self._existing.values())
        self._platform = _platform(loaded.documents)
        self._overwrite = overwrite
        self._synced: dict[str, SyncedConfig] = {}
        self._seen: set[ObjectKey] = set()
        self._skipped: Counter[str] = Counter()
        self._new: dict[str, list[ImportedObject]] = {}
        """New documents, by file."""
        self._editors: dict[str, YamlFile] = {}
        self._edited: set[str] = set()
        """Files that changed. Others were only compared."""

    def add(self, data: Mapping[str, Any]) -> None:
        """Takes one object of the hub. Raises RepositoryError."""
        kind = str(data.get("kind") or "object without a kind")
        if kind not in TAKEN_KINDS:
            self._skipped[kind] += 1
            return
        # Its source is in git already. Imported, it would be there twice.
        if is_rendered(data):
            self._skipped[f"{kind} that gitops-dsf rendered"] += 1
            return
        key = ObjectKey(kind, name_of(data))
        if key in self._seen:
            raise RepositoryError(
                f"{kind} {key.name} is in the input twice; give one state of the hub"
            )
        self._seen.add(key)
        document = self._existing.get(key)
        value = manifest(data, _and_known(self._selection, document))
        if kind == "ManagedCluster" and self._is_left_out(data, key.name, document):
            return
        if value is None:
            # OCM's own sets are in no repository, and their absence is no difference.
            if key.name not in BUILT_IN_SETS:
                self._import.refused.append(
                    ImportLine(
                        kind=kind,
                        name=key.name,
                        file=_file_of(key),
                        changes=(why_not_taken(data),),
                    )
                )
            return
        if kind == "DynamicScorer" and (config := synced(data)) is not None:
            self._synced[key.name] = config
        if document is None:
            self._add_new(key, value)
        else:
            self._edit(document, value)

    def result(self) -> Import:
        """The planned import. Raises RepositoryError when there is nothing to import."""
        for kind, count in sorted(self._skipped.items()):
            self._import.skipped.append(f"{count} {kind}")
        self._check_is_not_empty()
        for file in sorted(self._edited):
            self._import.files[file] = self._editors[file].text
        for file, documents in self._new.items():
            text = self._import.files.get(file) or self._text(file)
            for document in documents:
                text = appended(text, emit(document))
            self._import.files[file] = text
        if self._synced:
            self._plan_locks()
        self._note_missing()
        self._sort()
        return self._import

    def _is_left_out(self, data: Mapping[str, Any], name: str, document: Document | None) -> bool:
        """Whether a cluster is not taken. If so, it is noted with the reason."""
        lines = self._import.refused
        reason = self._without.get(name, "")
        owner = self._platform.owner_of(name)
        is_accepted = value_at(data, ("spec", "hubAcceptsClient")) is True
        if owner is not None:
            # With it the repository would not validate (DSF210).
            reason = f"the hub's namespace {name} belongs to {owner.owner} ({owner.reason})"
        elif value_at(data, ("metadata", "deletionTimestamp")) is not None:
            lines = self._import.not_joined
            reason = "it is being deleted on the hub"
        elif document is None and not is_accepted:
            # Any cluster that reaches the hub can ask to join under any name.
            lines = self._import.not_joined
            reason = "nobody has accepted it on the hub (spec.hubAcceptsClient)"
        if not reason:
            return False
        file = _file_of(ObjectKey("ManagedCluster", name)) if document is None else document.file
        lines.append(ImportLine(kind="ManagedCluster", name=name, file=file, changes=(reason,)))
        return True

    def _add_new(self, key: ObjectKey, value: ImportedObject) -> None:
        # If a file of that name holds something else, the document is appended to it.
        file = _file_of(key)
        self._new.setdefault(file, []).append(value)
        self._import.added.append(ImportLine(file=file, kind=key.kind, name=key.name))

    def _edit(self, document: Document, value: ImportedObject) -> None:
        # In a fleet of thousands, nearly every file is up to date, and parsing all of them for
        # editing takes minutes.
        if not differing(document.data, value) or _means_the_same(document, value):
            self._import.unchanged += 1
            return
        may_write = document.kind in _MIRRORED or self._overwrite
        # A document that may not be written is edited in a copy, to say how it differs.
        editor = self._editors.get(document.file) if may_write else None
        if editor is None:
            editor = YamlFile(self._text(document.file))
        if may_write:
            self._editors[document.file] = editor
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
            self._edited.add(document.file)
            self._import.changed.append(line)
        else:
            self._import.differing.append(line)

    def _check_is_not_empty(self) -> None:
        if self._seen:
            return
        # Most likely another file was meant, or kubectl's output was cut off.
        skipped = ", ".join(self._import.skipped)
        if skipped:
            raise RepositoryError(
                f"there is no {or_text(TAKEN_KINDS)} in the input; it holds {skipped}"
            )
        raise RepositoryError(f"there is no {or_text(TAKEN_KINDS)} in the input")

    def _note_missing(self) -> None:
        # Only kinds that the input contains are compared: a list of clusters does not show which
        # scorers exist.
        kinds = {key.kind for key in self._seen}.intersection(_MIRRORED)
        for key, document in self._existing.items():
            if key.kind in kinds and key not in self._seen:
                self._import.missing.append(
                    ImportLine(file=document.file, kind=document.kind, name=document.name)
                )

    def _sort(self) -> None:
        for lines in (
            self._import.added,
            self._import.changed,
            self._import.differing,
            self._import.refused,
            self._import.not_joined,
            self._import.missing,
        ):
            lines.sort()

    def _plan_locks(self) -> None:
        """Plans new locks for a repository with the imported scorers, by the rules of `sync`."""
        loaded = self._loaded.with_files(self._import.files)
        declared = declare(loaded)
        locks = {lock.name: lock for lock in declared.locks}
        answers: dict[str, Config | str] = {}
        for scorer in declared.scorers:
            synced_config = self._synced.get(scorer.name)
            spec = scorer.value.spec
            if synced_config is None or not spec.reads_config:
                continue
            # A page that git's scorer does not name is ignored.
            if synced_config.url != spec.config_url:
                continue
            # People accepted the locks that git has.
            if self._overwrite or scorer.name not in locks:
                answers[scorer.name] = _config(scorer.name, synced_config)
        texts: dict[str, str] = {}
        for name in answers:
            file = lock_file(name, locks)
            text = self._text(file)
            if text:
                texts[file] = text
        # A lock that brings errors is refused, as `sync` would refuse its page.
        plan = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
        for result in plan.outcomes:
            self._note_lock(result)
        self._import.files |= plan.files

    def _note_lock(self, result: LockResult) -> None:
        lines = self._import.added
        words: tuple[str, ...] = ()
        if result.verdict is LockState.CHANGED:
            lines = self._import.changed
            for change in result.changes:
                words += (f"{change.field}: {change.before} -> {change.after}",)
        elif result.verdict is LockState.REFUSED:
            lines = self._import.refused
            words = result.reasons
        # Other states say that git's lock stays as it is.
        elif result.verdict is not LockState.NEW:
            return
        lines.append(
            ImportLine(file=result.file, kind="ScorerLock", name=result.scorer, changes=words)
        )

    def _text(self, file: str) -> str:
        """The text of a file of the repository; empty if there is none."""
        root = self._import.root
        return read_text(root, file) if (root / file).exists() else ""


def _check_is_readable(loaded: Loaded) -> None:
    """Raises RepositoryError if a file cannot be read."""
    broken = []
    for finding in loaded.diagnostics:
        # The settings are not written, and have defaults.
        is_settings = finding.position.file == "gitops-dsf.yaml"
        if finding.severity is Severity.ERROR and not is_settings:
            broken.append(finding)
    if broken:
        places = "\n".join(f"  {finding.position}: {finding.message}" for finding in broken[:5])
        raise RepositoryError(
            "these files cannot be read, so they cannot be updated; correct them first (gitops-dsf"
            f" validate says more):\n{places}"
        )


def _config(scorer: str, synced_config: SyncedConfig) -> Config | str:
    """The configuration that the hub has of a scorer, or why it cannot be read."""
    try:
        return read_config(
            synced_config.config, where=f"status.lastSyncedConfig of DynamicScorer {scorer}"
        )
    except ConfigError as error:
        return str(error)


def _platform(documents: Iterable[Document]) -> Platform:
    """The namespaces of the platform by the settings; by their defaults if they cannot be read."""
    for document in documents:
        if document.kind == "FleetRepository":
            try:
                return FleetRepository.model_validate(document.data).spec.platform
            except ValidationError:
                break
    return NO_SETTINGS.platform


def _file_of(key: ObjectKey) -> str:
    """The file that a new object is written to."""
    # Sets are few and short, and are read together.
    if key.kind == "ManagedClusterSet":
        return f"{FOLDER_OF_KIND[key.kind]}/sets.yaml"
    return f"{FOLDER_OF_KIND[key.kind]}/{key.name[:_MAX_NAME]}.yaml"


def _means_the_same(document: Document, value: ImportedObject) -> bool:
    """Whether two scorers or masks differ only in defaults, which the API server writes out."""
    if document.kind in _MIRRORED:
        return False
    model = KINDS[value["apiVersion"], value["kind"]]
    same_name = {"metadata": {"name": "same"}}
    try:
        in_git = model.model_validate({**document.data, **same_name})
        on_hub = model.model_validate({**value, **same_name})
    except ValidationError:
        return False
    return in_git == on_hub


def _and_known(selection: ImportSelection, document: Document | None) -> ImportSelection:
    """The selection, extended by what the file of a cluster already holds."""
    if document is None or document.kind != "ManagedCluster":
        return selection
    labels = value_at(document.data, ("metadata", "labels"))
    claims = value_at(document.data, ("status", "clusterClaims")) or []
    allocatable = value_at(document.data, ("status", "allocatable"))
    capacity = value_at(document.data, ("status", "capacity"))
    claim_names: list[str] = []
    for claim in claims:
        # The document may not be valid yet.
        if isinstance(claim, Mapping) and isinstance(claim.get("name"), str):
            claim_names.append(claim["name"])
    return selection.and_names(
        labels=labels if isinstance(labels, Mapping) else (),
        claims=claim_names,
        resources=bool(allocatable or capacity),
    )
