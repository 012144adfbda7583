"""Plans the adoption of ApplicationSets and of the Placements that they follow.

Each object is taken in the best form that keeps every Application as it is: as a ScoredApplication
or ScoredPlacement, else as it is, else not at all. The forms are tried in this order, and the rules
of `validate` and the renderer judge each. Nothing is written here.

Not guaranteed: the best form for each object on its own. Objects that follow one Placement are one
group, and a member without a form gives the others another one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.diagnostics import Diagnostic, Severity
from gitops_dsf.errors import RepositoryError
from gitops_dsf.globs import is_glob, matches
from gitops_dsf.hub.application_sets import placements_followed
from gitops_dsf.hub.names import PLACEMENT_LABEL
from gitops_dsf.hub.resources import APPLICATION_SETS, PLACEMENTS
from gitops_dsf.hub.scorers import ScoreKey
from gitops_dsf.importer.adoption.agreement import check_ranking, check_set
from gitops_dsf.importer.adoption.applicationset import application_of
from gitops_dsf.importer.adoption.forms import FollowedPlacement, Form, LiveObject
from gitops_dsf.importer.adoption.liveset import NotExpressible, read_live_set
from gitops_dsf.importer.adoption.manifests import (
    applied_by,
    as_it_is,
    authored,
    merged,
    namespace_of,
    scored_placement,
)
from gitops_dsf.importer.adoption.otherscores import OtherScores, with_declared
from gitops_dsf.importer.adoption.placement import ranking_of
from gitops_dsf.importer.manifest import ImportedObject, is_rendered, name_of
from gitops_dsf.importer.planned import Import, ImportLine
from gitops_dsf.pipeline import CheckResult, check_loaded
from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.render.placements import placement as rendered_placement
from gitops_dsf.repository.files import read_text
from gitops_dsf.repository.load import FieldPath, Loaded, value_at
from gitops_dsf.repository.load.paths import SETTINGS_FILE
from gitops_dsf.sync.locks import new_errors
from gitops_dsf.wording import plural

ADOPTED_KINDS: Final = ("ApplicationSet", "Placement")
"""Kinds that may run already and be adopted."""
_VERSIONS: Final = {
    "ApplicationSet": APPLICATION_SETS.api_version,
    "Placement": PLACEMENTS.api_version,
}
MAX_ERRORS: Final = 5
"""Errors of a repository that a message names."""
_RANKINGS: Final = ("Placement", "ScoredApplication", "ScoredPlacement")
"""Kinds of a repository that render a Placement."""
_GENERATORS: Final[FieldPath] = ("spec", "generators")
_NO_LABEL: Final = (
    f"its generator does not name a Placement by the label {PLACEMENT_LABEL}: it reads one page of"
    " a decision, or the decisions of all Placements"
)


def adopt(
    planned: Import, objects: Iterable[Mapping[str, Any]], *, loaded: Loaded, names: Sequence[str]
) -> None:
    """Adds to an import what it adopts of these objects.

    `names` are globs of names of ApplicationSets, `loaded` the repository. Raises RepositoryError
    when the repository has errors already, because then nothing can be compared.
    """
    before = loaded.with_files(planned.files)
    _Adoption(planned, list(objects), before, names).run()


class _Adoption:
    """Tries forms until the repository is valid and renders what is live."""

    def __init__(
        self,
        planned: Import,
        objects: Sequence[Mapping[str, Any]],
        loaded: Loaded,
        names: Sequence[str],
    ) -> None:
        self._planned = planned
        self._objects = objects
        self._loaded = loaded
        self._names = names
        checked = check_loaded(loaded)
        self._before = checked.diagnostics
        self._fleet = _checked_fleet(checked)
        self._home = self._fleet.repository.spec.argocd.namespace
        self._scores = OtherScores(self._fleet, objects)
        self._in_git = {(document.kind, document.name) for document in loaded.documents}
        self._files_in_git = {document.file for document in loaded.documents}
        self._files: dict[str, LiveObject] = {}
        """The files that are written, and the object of each."""

    def run(self) -> None:
        groups = list(self._groups())
        texts = self._texts(groups)
        # Each round but the last one gives at least one object a lesser form, of which there are
        # two: so it ends.
        while True:
            checked = check_loaded(self._loaded.with_files(texts))
            errors = new_errors(self._before, checked.diagnostics)
            is_as_live = True
            if errors:
                self._blame(errors, groups)
            elif checked.fleet is not None:
                is_as_live = self._compare(checked.fleet, groups)
            if is_as_live and not errors:
                break
            texts = self._texts(groups)
        self._planned.files |= texts
        self._report(groups)

    def _groups(self) -> Iterator[FollowedPlacement]:
        """The ApplicationSets that are asked for, by the Placement that they follow."""
        # Argo CD reads decisions in its own namespace alone, so no ApplicationSet follows other
        # Placements.
        placements: dict[str, Mapping[str, Any]] = {}
        for data in self._objects:
            if data.get("kind") == "Placement" and namespace_of(data) == self._home:
                placements[name_of(data)] = data
        by_placement: dict[str, FollowedPlacement] = {}
        for live in self._sets():
            followed = placements_followed(value_at(live.data, _GENERATORS))
            name = followed[0]
            group = by_placement.get(name)
            if group is None:
                group = FollowedPlacement(
                    placement=self._placement(placements.get(name)), name=name
                )
                by_placement[name] = group
            group.sets.append(live)
            if len(set(followed)) > 1:
                live.fall_back("it follows several Placements", Form.AS_IT_IS)
        for group in by_placement.values():
            self._begin(group)
            yield group

    def _sets(self) -> Iterator[LiveObject]:
        """The ApplicationSets that are asked for and that git does not have."""
        skipped: Counter[str] = Counter()
        matching_patterns: set[str] = set()
        for data in sorted(self._objects, key=lambda data: str(value_at(data, ("metadata",)))):
            if data.get("kind") != "ApplicationSet":
                continue
            name = name_of(data)
            patterns = _matching(name, self._names)
            if not patterns:
                skipped["ApplicationSet that --adopt does not name"] += 1
                continue
            matching_patterns.update(patterns)
            if is_rendered(data):
                skipped["ApplicationSet that gitops-dsf rendered"] += 1
            # Either kind in git renders an ApplicationSet of this name, so it was adopted before.
            elif {("ApplicationSet", name), ("ScoredApplication", name)} & self._in_git:
                self._planned.unchanged += 1
            elif not placements_followed(value_at(data, _GENERATORS)):
                if _reads_decisions(value_at(data, _GENERATORS)):
                    self._planned.left.append(
                        ImportLine(kind="ApplicationSet", name=name, file="", changes=(_NO_LABEL,))
                    )
                else:
                    skipped["ApplicationSet that follows no decision"] += 1
            else:
                yield LiveObject(data=data, kind="ApplicationSet", name=name)
        # A glob may match nothing. A name was meant, and is mistyped or not in the input.
        for pattern in sorted(set(self._names) - matching_patterns):
            if not is_glob(pattern):
                raise RepositoryError(f"there is no ApplicationSet {pattern} in the input")
        for reason, count in sorted(skipped.items()):
            self._planned.skipped.append(f"{count} {reason}")

    def _placement(self, data: Mapping[str, Any] | None) -> LiveObject | None:
        if data is None or is_rendered(data):
            return None
        name = name_of(data)
        if any((kind, name) in self._in_git for kind in _RANKINGS):
            return None
        return LiveObject(data=data, kind="Placement", name=name)

    def _begin(self, group: FollowedPlacement) -> None:
        """Gives the members of a group the first form that is not out of the question."""
        for live in group.members():
            version = _VERSIONS[live.kind]
            if live.data.get("apiVersion") != version:
                live.fall_back(f"its apiVersion is not {version}", Form.NOT_AT_ALL)
            elif namespace_of(live.data) != self._home:
                # Argo CD looks up decisions in its own namespace only.
                live.fall_back(
                    f"it is in the namespace {namespace_of(live.data)}, and spec.argocd.namespace"
                    f" of gitops-dsf.yaml is {self._home}",
                    Form.NOT_AT_ALL,
                )
        if group.placement is not None:
            return
        if ("ScoredPlacement", group.name) in self._in_git:
            return
        for live in group.sets:
            if ("Placement", group.name) in self._in_git:
                live.fall_back(f"git has the Placement {group.name} as it is", Form.AS_IT_IS)
            elif ("ScoredApplication", group.name) in self._in_git:
                live.fall_back(
                    f"it follows the decision of the ScoredApplication {group.name}; only a"
                    " ScoredPlacement can be followed by several applications",
                    Form.AS_IT_IS,
                )
            else:
                live.fall_back(
                    f"the Placement {group.name}, which it follows, is not in the input",
                    Form.NOT_AT_ALL,
                )

    def _texts(self, groups: Iterable[FollowedPlacement]) -> dict[str, str]:
        """The files of the present forms."""
        self._files = {}
        texts: dict[str, str] = {}
        for group in groups:
            # A member that cannot be expressed gets another form, and may change the others.
            documents = self._documents(group)
            while documents is None:
                documents = self._documents(group)
            for live, document in documents:
                file = self._file(live, texts)
                self._files[file] = live
                texts[file] = emit(document)
        # A score that no cluster has may be a misspelt one, and stays a finding.
        declared = list(filter(self._scores.clusters, self._undeclared(groups)))
        if declared:
            name = self._fleet.repository.metadata.name
            texts[SETTINGS_FILE] = with_declared(self._settings(), name, declared)
        return texts

    def _undeclared(self, groups: Iterable[FollowedPlacement]) -> Sequence[ScoreKey]:
        """The scores of other add-ons that rank the Placements which are written."""
        placements: list[Mapping[str, Any]] = []
        for group in groups:
            placement = group.placement
            if placement is not None and placement.form is not Form.NOT_AT_ALL:
                placements.append(placement.data)
        return self._scores.undeclared(placements)

    def _settings(self) -> str:
        """The text of gitops-dsf.yaml."""
        planned_text = self._planned.files.get(SETTINGS_FILE)
        return planned_text or read_text(self._planned.root, SETTINGS_FILE)

    def _documents(
        self, group: FollowedPlacement
    ) -> list[tuple[LiveObject, ImportedObject]] | None:
        """The documents of a group; None if a member has another form from now on."""
        group.agree_on_forms()
        ranking: ImportedObject | None = None
        documents: list[tuple[LiveObject, ImportedObject]] = []
        placement = group.placement
        if placement is not None and placement.form is Form.SCORED:
            try:
                spec = value_at(placement.data, ("spec",)) or {}
                ranking = ranking_of(spec, self._fleet.scorers)
            except NotExpressible as reason:
                placement.fall_back(str(reason))
                return None
        for live in group.sets:
            if live.form is Form.SCORED:
                try:
                    application = application_of(read_live_set(live.data))
                except NotExpressible as reason:
                    live.fall_back(str(reason))
                    return None
                application["metadata"] |= authored(live.data)
                documents.append((live, application))
        # One object is easier to read than two, so both are written as one where that says all.
        if placement is not None and ranking is not None:
            merged_application = merged(group, placement, ranking, documents)
            if merged_application is not None:
                if self._fleet.repository.spec.pace is not None:
                    # A paced Placement is rendered with other weights.
                    merged_application["spec"]["moves"]["pace"] = "None"
                return [(group.sets[0], merged_application)]
            documents.insert(0, (placement, scored_placement(placement, ranking)))
        # The remaining applications refer to their ranking, which is a document of its own.
        for _, document in documents:
            if document["kind"] == "ScoredApplication":
                spec = document["spec"]
                document["spec"] = {
                    "application": spec["application"],
                    "placement": {"ref": group.name},
                    "moves": spec["moves"],
                }
        for live in group.members():
            if live.form is Form.AS_IT_IS:
                documents.append((live, as_it_is(live.data)))
        return documents

    def _file(self, live: LiveObject, taken: Mapping[str, str]) -> str:
        """A file of its own for each object, so that a finding in it is about that object."""
        stem = f"apps/{live.name[:200]}"
        for file in (f"{stem}.yaml", f"{stem}-{live.kind.lower()}.yaml", f"{stem}-adopted.yaml"):
            if file not in taken and file not in self._files_in_git:
                return file
        raise RepositoryError(f"there is a file {stem}-adopted.yaml already; rename it")

    def _blame(self, errors: Sequence[Diagnostic], groups: Sequence[FollowedPlacement]) -> None:
        """Gives the objects in whose files errors are another form."""
        blamed: dict[str, Diagnostic] = {}
        for error in errors:
            if error.position.file in self._files:
                blamed.setdefault(error.position.file, error)
        for file, error in blamed.items():
            self._files[file].fall_back(_text(error))
        if blamed:
            return
        # The repository had no error before, so one of them brings it.
        for group in groups:
            for live in group.members():
                live.fall_back(_text(errors[0]), Form.NOT_AT_ALL)

    def _compare(self, fleet: CheckedFleet, groups: Iterable[FollowedPlacement]) -> bool:
        """Compares the rendered objects with the live ones. One that differs gets another form."""
        applications = {
            application.metadata.name: application for application in fleet.applications
        }
        rendered = {resolved.name: resolved for resolved in fleet.placements}
        is_as_live = True
        for group in groups:
            placement = group.placement
            if placement is not None and placement.form is Form.SCORED:
                try:
                    spec = rendered_placement(rendered[group.name])["spec"]
                    check_ranking(placement, spec, self._fleet)
                except NotExpressible as reason:
                    placement.fall_back(str(reason))
                    is_as_live = False
            for live in group.sets:
                if live.form is Form.SCORED:
                    try:
                        check_set(live, applications[live.name], fleet)
                    except NotExpressible as reason:
                        live.fall_back(str(reason))
                        is_as_live = False
        return is_as_live

    def _report(self, groups: Iterable[FollowedPlacement]) -> None:
        files = {(live.kind, live.name): file for file, live in self._files.items()}
        for group in groups:
            for live in group.members():
                file = files.get((live.kind, live.name), "")
                line = ImportLine(kind=live.kind, name=live.name, file=file, changes=(live.reason,))
                if live.form is Form.NOT_AT_ALL:
                    self._planned.left.append(line)
                    continue
                if live.form is Form.AS_IT_IS:
                    self._planned.carried.append(line)
                elif file:
                    kind = (
                        "ScoredApplication" if live.kind == "ApplicationSet" else "ScoredPlacement"
                    )
                    self._planned.added.append(ImportLine(kind=kind, name=live.name, file=file))
                if live.kind == "ApplicationSet":
                    self._planned.adopted += 1
                owner = applied_by(live.data)
                if owner:
                    self._planned.applied_elsewhere.append(
                        ImportLine(kind=live.kind, name=live.name, file=file, changes=(owner,))
                    )
        self._report_scores(groups)
        for lines in (
            self._planned.added,
            self._planned.carried,
            self._planned.left,
            self._planned.applied_elsewhere,
        ):
            lines.sort()

    def _report_scores(self, groups: Iterable[FollowedPlacement]) -> None:
        changes: list[str] = []
        for score in self._undeclared(groups):
            text = "/".join(score)
            count = self._scores.clusters(score)
            if count == 0:
                self._planned.undeclared.append(text)
                continue
            self._planned.declared.append(text)
            have = "has" if count == 1 else "have"
            changes.append(
                f"spec.externalScores declares {text}, which {plural(count, 'cluster')} {have}"
            )
        if changes:
            self._planned.changed.append(
                ImportLine(
                    kind="FleetRepository",
                    name=self._fleet.repository.metadata.name,
                    file=SETTINGS_FILE,
                    changes=tuple(changes),
                )
            )


def _checked_fleet(checked: CheckResult) -> CheckedFleet:
    if checked.fleet is not None:
        return checked.fleet
    lines: list[str] = []
    for finding in checked.diagnostics:
        if finding.severity is Severity.ERROR:
            lines.append(f"  {finding.position}: {finding.message}")
    # The first few are enough to start with, and `validate` shows all.
    places = "\n".join(lines[:MAX_ERRORS])
    raise RepositoryError(
        "the repository has errors, so nothing can be adopted: whether Applications stay as they"
        f" are is compared with what it renders. Correct them first:\n{places}"
    )


def _matching(name: str, patterns: Iterable[str]) -> list[str]:
    """The globs that match a name."""
    return [pattern for pattern in patterns if matches(name, pattern)]


def _reads_decisions(generators: Any) -> bool:  # noqa: ANN401 - plain data
    """Whether one of these generators, or one inside of them, reads decisions."""
    if isinstance(generators, list):
        return any(map(_reads_decisions, generators))
    if isinstance(generators, Mapping):
        return "clusterDecisionResource" in generators or _reads_decisions(
            list(generators.values())
        )
    return False


def _text(error: Diagnostic) -> str:
    return f"{error.code} {error.message}"
