"""Writes where a hub has its Argo CD into gitops-dsf.yaml, for `init` and `import`."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dsf_wire.text import printable
from gitops_dsf.hub.snapshots.snapshot import SnapshotError
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.files import documents
from gitops_dsf.importer.argocdsettings import name_of_settings, with_argocd
from gitops_dsf.repository.files import read_text, write_files
from gitops_dsf.repository.load.paths import SETTINGS_FILE

_DEFAULT_NAMESPACE: Final = "argocd"


def settle_argocd(
    directory: Path, *, context: str, kubeconfig: Path | None, is_dry_run: bool = False
) -> None:
    """Looks for the Argo CD of a hub, writes the settings, and prints what was found and why.

    Raises HubError when the hub does not answer, and RepositoryError if the settings cannot be read
    or written.
    """
    # Without the extra live there is no hub to look at.
    from gitops_dsf.hubreader.argocdplace import find_argocd

    text = read_text(directory, SETTINGS_FILE)
    settings = _settings(text)
    if settings is None:
        # What reads the whole repository says what is wrong with the file.
        return
    name, expected = settings
    argocd = find_argocd(context=context, kubeconfig=kubeconfig, expected=expected)
    if isinstance(argocd, Unread):
        print(
            printable(f"{SETTINGS_FILE}: spec.argocd was not compared with the hub: {argocd}"),
            file=sys.stderr,
        )
        return
    if argocd is None:
        return
    adapted = with_argocd(text, name=name, argocd=argocd)
    if adapted.changed and not is_dry_run:
        write_files(directory, {SETTINGS_FILE: adapted.text})
    for line in adapted.changed:
        print(printable(f"{SETTINGS_FILE}: {line}"))
    for line in adapted.told:
        print(printable(line), file=sys.stderr)


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
