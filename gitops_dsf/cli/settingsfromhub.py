"""Writes settings that a hub decides into gitops-dsf.yaml, for `init` and `import`.

These are the place of its Argo CD, and the owner of the CRDs. The module needs the extra live.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dsf_wire.text import printable
from gitops_dsf.hub.names import ARGOCD_NAMESPACE
from gitops_dsf.hub.resources import DEFINITIONS
from gitops_dsf.hub.scorerdefinition import SCORER_CRD
from gitops_dsf.hub.snapshots.snapshot import SnapshotError
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.argocdplace import find_argocd
from gitops_dsf.hubreader.files import documents
from gitops_dsf.hubreader.hub import HubClient
from gitops_dsf.importer.argocdsettings import adapt_argocd
from gitops_dsf.importer.crdsettings import adapt_crds
from gitops_dsf.importer.settings import AdaptedSettings, SettingsFile, name_of_settings
from gitops_dsf.repository.files import read_text, write_files
from gitops_dsf.repository.load.paths import SETTINGS_FILE

T = TypeVar("T")


def adapt_settings(directory: Path, hub: HubClient, *, is_dry_run: bool = False) -> None:
    """Looks at a hub, writes the settings, and prints what was found and why.

    What may not be read is said, and the rest is written. Raises HubError when the hub does not
    answer, and RepositoryError if the settings cannot be read or written.
    """
    text = read_text(directory, SETTINGS_FILE)
    name = _name(text)
    if name is None:
        # Readers of the whole repository report mistakes of the file.
        return
    file = SettingsFile(text, name=name)
    section = file.section("argocd") or {}
    # A hub can have several Argo CDs. The one that the settings name counts, if it is there.
    expected = str(section.get("namespace") or ARGOCD_NAMESPACE)
    argocd = _adapted(file, "spec.argocd", find_argocd(hub, expected=expected), adapt_argocd)
    definition = hub.find(DEFINITIONS, SCORER_CRD)
    crds = _adapted(file, "spec.delivery.crds", definition, adapt_crds)
    changed = (*argocd.changed, *crds.changed)
    if changed and not is_dry_run:
        write_files(directory, {SETTINGS_FILE: file.text})
    # The changes are the result; facts and hints for people are beside it, on standard error.
    for line in changed:
        print(printable(f"{SETTINGS_FILE}: {line}"))
    for line in (*argocd.notes, *crds.notes):
        print(printable(line), file=sys.stderr)


def _adapted(
    file: SettingsFile,
    field: str,
    on_hub: T | Unread | None,
    adapt: Callable[[SettingsFile, T], AdaptedSettings],
) -> AdaptedSettings:
    """The result of `adapt` for a field and objects of the hub; nothing changes if it has none."""
    if on_hub is None:
        return AdaptedSettings()
    if isinstance(on_hub, Unread):
        line = f"{SETTINGS_FILE}: {field} was not compared with the hub: {on_hub}"
        return AdaptedSettings(notes=(line,))
    return adapt(file, on_hub)


def _name(text: str) -> str | None:
    """The name of the FleetRepository; None if there is none, or the file cannot be read."""
    try:
        for document in documents(text.encode(), file=SETTINGS_FILE):
            name = name_of_settings(document.plain())
            if name is not None:
                return name
    except SnapshotError:
        return None
    return None
