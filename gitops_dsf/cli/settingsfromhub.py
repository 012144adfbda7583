"""Writes into gitops-dsf.yaml what a hub decides, for `init` and `import`.

That is where its Argo CD is, and who owns the CRDs.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.hub.snapshots.snapshot import SnapshotError
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.files import documents
from gitops_dsf.importer.argocdsettings import with_argocd
from gitops_dsf.importer.crdsettings import with_crds
from gitops_dsf.importer.settings import AdaptedSettings, name_of_settings
from gitops_dsf.repository.files import read_text, write_files
from gitops_dsf.repository.load.paths import SETTINGS_FILE

_DEFAULT_NAMESPACE: Final = "argocd"


def adapt_settings(
    directory: Path, *, context: str, kubeconfig: Path | None, is_dry_run: bool = False
) -> None:
    """Looks at a hub, writes the settings, and prints what was found and why.

    What may not be read is said, and the rest is written. Raises HubError when the hub does not
    answer, and RepositoryError if the settings cannot be read or written.
    """
    text = read_text(directory, SETTINGS_FILE)
    settings = _settings(text)
    if settings is None:
        # What reads the whole repository says what is wrong with the file.
        return
    name, expected = settings
    argocd = _argocd(text, name=name, expected=expected, context=context, kubeconfig=kubeconfig)
    crds = _crds(argocd.text, name=name, context=context, kubeconfig=kubeconfig)
    changed = (*argocd.changed, *crds.changed)
    if changed and not is_dry_run:
        write_files(directory, {SETTINGS_FILE: crds.text})
    for line in changed:
        print(printable(f"{SETTINGS_FILE}: {line}"))
    for line in (*argocd.told, *crds.told):
        print(printable(line), file=sys.stderr)


def _argocd(
    text: str, *, name: str, expected: str, context: str, kubeconfig: Path | None
) -> AdaptedSettings:
    # Without the extra live there is no hub to look at.
    from gitops_dsf.hubreader.argocdplace import find_argocd

    argocd = find_argocd(context=context, kubeconfig=kubeconfig, expected=expected)
    if argocd is None:
        return AdaptedSettings(text=text)
    if isinstance(argocd, Unread):
        line = f"{SETTINGS_FILE}: spec.argocd was not compared with the hub: {argocd}"
        return AdaptedSettings(text=text, told=(line,))
    return with_argocd(text, name=name, argocd=argocd)


def _crds(text: str, *, name: str, context: str, kubeconfig: Path | None) -> AdaptedSettings:
    # Without the extra live there is no hub to look at.
    from gitops_dsf.hubreader.scorerdefinition import find_scorer_definition

    definition = find_scorer_definition(context=context, kubeconfig=kubeconfig)
    if definition is None:
        return AdaptedSettings(text=text)
    if isinstance(definition, Unread):
        line = f"{SETTINGS_FILE}: spec.delivery.crds was not compared with the hub: {definition}"
        return AdaptedSettings(text=text, told=(line,))
    return with_crds(text, name=name, definition=definition)


def _settings(text: str) -> tuple[str, str] | None:
    """The name of the FleetRepository, and the namespace of Argo CD that it names."""
    try:
        for document in documents(text.encode(), file=SETTINGS_FILE):
            content = document.plain()
            name = name_of_settings(content)
            if name is not None:
                return name, _namespace(content)
    except SnapshotError:
        return None
    return None


def _namespace(content: Mapping[str, Any]) -> str:
    spec = content.get("spec")
    section = spec.get("argocd") if isinstance(spec, Mapping) else None
    namespace = section.get("namespace") if isinstance(section, Mapping) else None
    return str(namespace or _DEFAULT_NAMESPACE)
