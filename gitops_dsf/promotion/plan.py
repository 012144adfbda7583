"""Works out a promotion: the new texts of the files, and what changes. Reads files and writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ruamel.yaml.comments import CommentedMap

from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.errors import GitopsDsfError
from gitops_dsf.pipeline import Checked, check_loaded
from gitops_dsf.promotion.merge import ALWAYS_KEPT, INTERVAL, TTL, merge, put
from gitops_dsf.render.scorers import scorer as rendered
from gitops_dsf.repository.load import load
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.write import read_text
from gitops_dsf.repository.yamledit import YamlFile
from gitops_dsf.resolve.types import EffectiveScorer, Resolved
from gitops_dsf.sync.lockfile import updated
from gitops_dsf.sync.weigh import lock_file
from gitops_dsf.views.preview.fields import FieldChange, field_changes
from gitops_dsf.views.preview.scorers import Effect, effect_of
from gitops_dsf.wording import names_text


class PromotionError(GitopsDsfError):
    """The promotion cannot be written. The message says why, and what to do instead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Promotion:
    """What a promotion writes."""

    shadow: str
    live: str
    files: Mapping[str, str | None]
    """New texts by path in the repository; None for a file that goes, because nothing is left in it."""
    changes: tuple[FieldChange, ...]
    """Effective fields of the live scorer that change."""
    warnings: tuple[Diagnostic, ...]
    """Warnings that the repository did not have before."""
    after: Checked
    """The repository after the promotion. It has no errors."""


def promote(root: Path, name: str, *, take_interval: bool = False) -> Promotion:
    """Returns the edit that gives the live scorer the definition of the shadow `name`, its lock included.

    The live scorer keeps its score name, its clusters and `suspend`; its interval and TTL too, unless
    `take_interval` is set. Raises PromotionError, and RepositoryError if a file cannot be read.
    """
    loaded = load(root)
    before = check_loaded(loaded)
    if before.resolved is None:
        errors = [item for item in before.diagnostics if item.severity is Severity.ERROR]
        msg = f"the repository has {_errors(errors)}; correct them first: gitops-dsf validate"
        raise PromotionError(msg)
    declared = declare(loaded)
    shadow, live = _pair(declared, before.resolved, name)
    editor = _Editor(root, declared, shadow, live, take_interval=take_interval)
    files = editor.files()
    after = check_loaded(loaded.with_files(files))
    errors = [item for item in after.diagnostics if item.severity is Severity.ERROR]
    if after.resolved is None:
        msg = f"after the promotion the repository would have {_errors(errors)}"
        raise PromotionError(msg)
    now = _scorer(after.resolved, live.name)
    if now is None or not _took(shadow, live, now):
        msg = (
            f"the YAML of {live.name} cannot be edited so that it has the definition of {name}, perhaps"
            " because of an anchor or a merge key; write it by hand"
        )
        raise PromotionError(msg)
    known = {(item.code, item.message) for item in before.diagnostics}
    return Promotion(
        shadow=name,
        live=live.name,
        files=files,
        changes=field_changes(
            rendered(live, before.resolved.repository)["spec"],
            rendered(now, after.resolved.repository)["spec"],
        ),
        warnings=tuple(
            item
            for item in after.diagnostics
            if item.severity is Severity.WARNING and (item.code, item.message) not in known
        ),
        after=after,
    )


def _pair(declared: Declared, resolved: Resolved, name: str) -> tuple[EffectiveScorer, EffectiveScorer]:
    """The shadow and its live scorer."""
    shadows = {item.name: item for item in declared.scorers if item.value.spec.shadow_of is not None}
    if name not in shadows:
        known = (
            did_you_mean(name, shadows) or f"shadows here: {names_text(sorted(shadows), most=8) or 'none'}"
        )
        if any(item.name == name for item in declared.scorers):
            msg = f"{name} is no shadow, because it has no shadowOf; {known}"
        else:
            msg = f"there is no shadow {name}; if it was promoted already, nothing is left to do; {known}"
        raise PromotionError(msg)
    item = shadows[name]
    found, live = _in_effect(resolved, name), _in_effect(resolved, str(item.value.spec.shadow_of))
    _check_lock(declared, item, live)
    return found, live


def _in_effect(resolved: Resolved, name: str) -> EffectiveScorer:
    found = _scorer(resolved, name)
    if found is None:
        msg = f"{name} waits for its lock; run gitops-dsf sync --scorer {name}"
        raise PromotionError(msg)
    return found


def _check_lock(declared: Declared, shadow: Item[DynamicScorer], live: EffectiveScorer) -> None:
    if not shadow.value.spec.reads_config:
        return
    lock = next((item for item in declared.locks if item.name == shadow.name), None)
    if lock is None:
        msg = (
            f"{shadow.name} has configSyncMode Full and no lock, so what its /config says is not known; run"
            f" gitops-dsf sync --scorer {shadow.name}"
        )
        raise PromotionError(msg)
    name = lock.value.spec.config.scoring.params.name
    if name and name != live.score_name:
        msg = (
            f"the /config of {shadow.name} names the score {name}, and {live.name} publishes"
            f" {live.score_name}: let the scoring API answer {live.score_name}, or write configSyncMode: None"
            f" in {shadow.name}"
        )
        raise PromotionError(msg)


def _scorer(resolved: Resolved, name: str) -> EffectiveScorer | None:
    return next((item for item in resolved.scorers if item.name == name), None)


def _took(shadow: EffectiveScorer, live: EffectiveScorer, now: EffectiveScorer) -> bool:
    """Whether the live scorer has the shadow's definition and publishes under its own name."""
    wanted = replace(shadow, score_name=now.score_name)
    return (
        now.score_name == live.score_name
        and effect_of(wanted, now)[0] is Effect.NONE
        and (shadow.publish, shadow.declared.spec.source) == (now.publish, now.declared.spec.source)
    )


def _errors(errors: list[Diagnostic]) -> str:
    shown = "; ".join(f"{item.position}: {item.code} {item.message}" for item in errors[:3])
    more = f" and {len(errors) - 3} more" if len(errors) > 3 else ""
    return f"{'an error' if len(errors) == 1 else f'{len(errors)} errors'}: {shown}{more}"


class _Editor:
    """Edits the files of one promotion."""

    def __init__(
        self,
        root: Path,
        declared: Declared,
        shadow: EffectiveScorer,
        live: EffectiveScorer,
        *,
        take_interval: bool,
    ) -> None:
        self._root = root
        self._shadow, self._live = shadow, live
        self._kept = frozenset(ALWAYS_KEPT if take_interval else (*ALWAYS_KEPT, INTERVAL, TTL))
        self._interval = (shadow if take_interval else live).interval
        self._locks = {item.name: item for item in declared.locks}
        self._edited: dict[str, YamlFile] = {}

    def files(self) -> dict[str, str | None]:
        self._edit_scorers()
        files: dict[str, str | None] = {
            name: None if file.holds_nothing else file.text for name, file in self._edited.items()
        }
        return files | self._lock_files()

    def _edit_scorers(self) -> None:
        target, source = self._file(self._live.position.file), self._file(self._shadow.position.file)
        live, shadow = self._spec(target, self._live.name), self._spec(source, self._shadow.name)
        merge(live, shadow, kept=self._kept)
        target.adopt_comments(
            "DynamicScorer", self._live.name, source.spec_text("DynamicScorer", self._shadow.name)
        )
        if not self._shadow.declared.spec.reads_config:
            # What only the live scorer's lock said must be written now.
            params = self._params(live)
            put(params, "name", self._live.score_name, after=None)
            if "interval" not in params or not params["interval"]:
                put(params, "interval", self._interval, after="name")
        source.remove("DynamicScorer", self._shadow.name)

    def _params(self, live: CommentedMap) -> CommentedMap:
        node = live
        for key in ("scoring", "params"):
            if not isinstance(node.get(key), CommentedMap):
                put(node, key, CommentedMap(), after=next(reversed(node), None))
            node = node[key]
        return node

    def _lock_files(self) -> dict[str, str | None]:
        """The live scorer has the lock of the shadow; none, if that has none."""
        lock, file = self._locks.get(self._shadow.name), lock_file(self._live.name, self._locks)
        texts = {
            item.document.file: read_text(self._root, item.document.file)
            for name, item in self._locks.items()
            if name in {self._shadow.name, self._live.name}
        }
        gone = [self._shadow.name]
        if lock is not None and self._shadow.declared.spec.reads_config:
            spec = lock.document.data["spec"]
            texts[file] = updated(
                texts.get(file, ""),
                scorer=self._live.name,
                config_url=spec["configURL"],
                config=spec["config"],
            )
        else:
            gone.append(self._live.name)
        found: dict[str, str | None] = {}
        for path, text in texts.items():
            document = YamlFile(text)
            for name in gone:
                document.remove("ScorerLock", name)
            found[path] = None if document.holds_nothing else document.text
        return found

    def _file(self, name: str) -> YamlFile:
        if name not in self._edited:
            self._edited[name] = YamlFile(read_text(self._root, name))
        return self._edited[name]

    @staticmethod
    def _spec(file: YamlFile, name: str) -> CommentedMap:
        document = file.find("DynamicScorer", name)
        spec = document.get("spec") if document is not None else None
        if not isinstance(spec, CommentedMap):
            msg = f"the YAML of {name} cannot be edited; write the promotion by hand"
            raise PromotionError(msg)
        return spec
