"""Settings of the reconciler, from gitops-dsf.yaml and from where the process runs."""

import socket
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitops_dsf.diagnostics import Severity
from gitops_dsf.errors import UsageError
from gitops_dsf.repository.load import SETTINGS_FILE, load_text
from gitops_dsf.repository.model.repository import FleetRepositorySpec
from gitops_dsf.repository.model.validate import declare


@dataclass(frozen=True, kw_only=True, slots=True)
class GitSettings:
    """The fleet repository, and how to write to it."""

    url: str
    branch: str = "main"
    """The protected branch, which Argo CD follows."""
    path: str = ""
    """Folder of the fleet in the repository."""
    credentials: Path | None = None
    """Folder of a mounted Secret, which is read for each use; `git.credentials` lists its files."""
    work_dir: Path | None = None
    """Folder of the shallow clone. None: a temporary folder."""
    author: str
    """`Name <mail>`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReconcilerSettings:
    spec: FleetRepositorySpec
    metrics_host: str
    metrics_port: int
    replica: str = field(default_factory=socket.gethostname)
    """Name of the pod.

    The holder of the Lease begins with it, and an admission policy compares both.
    """
    git: GitSettings | None = None
    """None: nothing is written to git."""
    placement_namespaces: tuple[str, ...] = ()
    """Namespaces outside of Argo CD's whose decisions are in the snapshot too."""
    multi_kueue_namespaces: tuple[str, ...] = ()
    """Namespaces of Placements by which MultiKueueConfigs are ordered; Argo CD's may be one."""
    secrets: Path | None = None
    """Folder with the credentials of /config pages. It is read for each use."""
    store_secrets: Path | None = None
    """Folder with the credentials of the metric store. It is read for each use."""


def read(path: Path) -> FleetRepositorySpec:
    """The settings in a gitops-dsf.yaml. Raises UsageError."""
    try:
        declared = declare(load_text(path.read_text("utf-8"), file=SETTINGS_FILE))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(
            f"--config {path}: {reason}; name the gitops-dsf.yaml of the fleet"
        ) from error
    for diagnostic in declared.diagnostics:
        # Warnings are for the review of a change. A pod that is restarted must not stop at one.
        if diagnostic.severity is not Severity.ERROR:
            continue
        message = f"--config {replace(diagnostic.position, file=str(path))}: {diagnostic.message}"
        raise UsageError(f"{message}; {diagnostic.hint}" if diagnostic.hint else message)
    if declared.repository is None:
        raise UsageError(f"--config {path}: it contains no FleetRepository")
    return declared.repository.value.spec
