"""Settings of the reconciler: what gitops-dsf.yaml says, and what is known only where it runs."""

import socket
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from pydantic import ValidationError

from gitops_dsf.errors import UsageError
from gitops_dsf.repository.model.repository import FleetRepository, FleetRepositorySpec


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
class Settings:
    spec: FleetRepositorySpec
    metrics_host: str
    metrics_port: int
    replica: str = field(default_factory=socket.gethostname)
    """Name of the pod. The holder of the Lease begins with it, and an admission policy compares both."""
    git: GitSettings | None = None
    """None: nothing is written to git."""
    placement_namespaces: tuple[str, ...] = ()
    """Namespaces outside of Argo CD's whose decisions are in the snapshot too."""
    secrets: Path | None = None
    """Folder with the credentials of /config pages. It is read for each use."""


def read(path: Path) -> FleetRepositorySpec:
    """What a gitops-dsf.yaml says. Raises UsageError."""
    try:
        return FleetRepository.model_validate(yaml.safe_load(path.read_bytes())).spec
    except OSError as error:
        msg = f"--config {path}: {error.strerror}; name the gitops-dsf.yaml of the fleet"
        raise UsageError(msg) from error
    except yaml.YAMLError as error:
        msg = f"--config {path} is not YAML: {error}"
        raise UsageError(msg) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        msg = f"--config {path}: {place}{': ' if place else ''}{first['msg']}"
        raise UsageError(msg) from error
