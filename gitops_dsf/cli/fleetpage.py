"""The parts of a fleet's page that are not on the hub: places of objects in git, and past moves."""

import argparse
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from gitops_dsf.cli.journalfiles import journal_files, since_month
from gitops_dsf.errors import RepositoryError
from gitops_dsf.forge.address import FORGE_KINDS
from gitops_dsf.forge.webpage import file_page
from gitops_dsf.hub.deployed import Deployed
from gitops_dsf.hub.names import DELIVERY_APPLICATION
from gitops_dsf.hub.times import age_text
from gitops_dsf.hubreader.facts import read_facts
from gitops_dsf.journal.lines import read as read_journal
from gitops_dsf.repository.git import SHORT, Repository, RevisionError
from gitops_dsf.repository.load import SETTINGS_FILE, Document
from gitops_dsf.repository.revision.branch import find_branch
from gitops_dsf.repository.revision.checkout import checkout
from gitops_dsf.repository.sources import load
from gitops_dsf.show.pages.fleet import Past, ShownFleet, fleet_page
from gitops_dsf.show.pages.sourceplace import SourcePlace
from gitops_dsf.views.doctor.examine import examine, not_installed
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.status.build import Filter, Overview, build
from gitops_dsf.wording import plural

PAST_DAYS: Final = 7
"""Days of the journal that the page shows."""


class FleetPage:
    """The page of a hub, with what can be read of it."""

    def __init__(self, args: argparse.Namespace, only: Filter) -> None:
        """Reads the hub. Raises HubError."""
        self._args = args
        # The facts of doctor contain what status reads, so the hub is read once for both.
        self.facts = read_facts(
            context=args.context,
            kubeconfig=args.kubeconfig,
            hub_namespace=args.hub_namespace,
            argocd_namespace=args.argocd_namespace,
        )
        self.view: Overview = build(self.facts.inputs, only)

    def html(self) -> str:
        """The page. A repository or a journal that cannot be read is named on it."""
        sources, sources_note = _sources(self._args.directory, _live_commit(self.facts))
        fleet = ShownFleet(
            overview=self.view,
            findings=not_installed(self.facts) or examine(self.facts),
            sources=sources,
            sources_note=sources_note,
            past=_past(self._args),
        )
        return fleet_page(fleet)


def _live_commit(facts: DoctorFacts) -> str:
    """The commit that Argo CD has applied; empty if that is not known."""
    for application in facts.of(FactSource.DELIVERY):
        if application["metadata"]["name"] == DELIVERY_APPLICATION:
            return msgspec.convert(application, Deployed).commit
    return ""


def _sources(directory: Path, live: str) -> tuple[Mapping[tuple[str, str], SourcePlace], str]:
    """The place of each object in git, by kind and name, and a sentence about the commit."""
    if not (directory / SETTINGS_FILE).is_file():
        return {}, (
            "Names have no links, because this was not made in a fleet repository; --repository"
            " names its folder."
        )
    try:
        with Repository(directory=directory).reading() as repository:
            # The commit that is live is what the page shows. A fleet with output.mode Branch is
            # applied from a branch that has no sources, and a clone may lack the commit: then HEAD
            # is used.
            for name, title in ((live, "that Argo CD has applied"), ("HEAD", "of this clone")):
                commit = repository.commit(name) if name else None
                if commit is None:
                    continue
                places = _places(repository, commit)
                if places:
                    return places, f"Names link to commit {commit[:SHORT]}, {title}."
    except RepositoryError as error:
        return {}, f"Names have no links: {error}."
    return {}, "Names have no links, because this clone has no commit of the fleet."


def _places(repository: Repository, commit: str) -> dict[tuple[str, str], SourcePlace]:
    with checkout(repository, commit) as sources:
        documents = load(sources.root).documents
    # Documents are used and not a checked fleet: an old commit may break rules of today, and its
    # files can be linked anyway.
    settings = next(
        (document for document in documents if document.kind == "FleetRepository"), None
    )
    if settings is None:
        return {}
    git_url = str(_field(settings, "spec", "git", "url") or "")
    forge = _field(settings, "spec", "reconciler", "proposals", "forge")
    kind = next((valid for valid in FORGE_KINDS if valid == forge), None)
    places: dict[tuple[str, str], SourcePlace] = {}
    for document in documents:
        position = document.position
        path = repository.prefix + position.file
        url = file_page(git_url, kind=kind, commit=commit, path=path, line=position.line)
        place = SourcePlace(f"{position.file}:{position.line}", url)
        places[document.kind, document.name] = place
    return places


def _field(document: Document, *names: str) -> Any:  # noqa: ANN401 - what people wrote
    """A field of the settings, which may have mistakes; None if it is absent."""
    value: Any = document.data
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _past(args: argparse.Namespace) -> Past:
    """The journal of the last days."""
    start = time.time() - PAST_DAYS * 86_400
    try:
        files = journal_files(args)
        branch = None if args.journal else find_branch(args.directory, args.journal_branch)
    except RevisionError:
        # A folder that is not a git repository has no journal.
        files = None
        branch = None
    if files is None:
        return Past(
            note=(
                f"There is no branch {args.journal_branch} here, so past moves are not known;"
                " --repository names a clone that has it, and --journal its files."
            )
        )
    sentences = [f"The last {PAST_DAYS} days, from {files.origin}."]
    if branch is not None:
        age = age_text(time.time() - branch.committed)
        sentences.append(f"The branch was pushed {age} before this page was made.")
    # One month more has where things were at the start.
    contents = since_month(files.contents, start - 31 * 86_400)
    records = read_journal(contents, explained=False)
    if records.bad:
        sentences.append(f"{plural(len(records.bad), 'line')} of it cannot be read.")
    return Past(records=records.records, start=start, note=" ".join(sentences))
