"""What the command line says. Frozen; seconds."""

import socket
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspensionSettings:
    """Whether scorers that do not answer are suspended, and how many clusters must agree."""

    enabled: bool = False
    quorum_percent: int = 50
    """Of the clusters that a scorer runs on: how many must have no fresh score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GitSettings:
    """The fleet repository, and how it is written to."""

    url: str
    branch: str = "main"
    """The protected one: what Argo CD follows."""
    path: str = ""
    """Folder of the fleet in the repository."""
    credentials: Path | None = None
    """Folder of a mounted Secret: token, or username and password, or ssh-privatekey and known_hosts. Read
    anew for each use.
    """
    work_dir: Path | None = None
    """Of the shallow clone; None: a temporary folder."""
    author: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposalSettings:
    """What becomes a commit, and how it is offered."""

    kinds: frozenset[str] = frozenset()
    """locks, inventory."""
    prefix: str = "gitops-dsf/"
    """Of the branches."""
    message_template: str = ""
    """Empty: the built-in one."""
    forge: str = ""
    """github, or empty: branches without pull requests."""
    forge_url: str = ""
    """Of the forge's API; empty: its public one."""
    interval: float = 60.0
    max_open: int = 10
    """Proposals that wait for people at a time."""
    direct: bool = False
    """Commits go to the protected branch, and there are no pull requests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StateSettings:
    """The snapshot for previews."""

    branch: str = ""
    """Empty: none is written."""
    interval: float = 300.0
    raw_scores_url: str = ""
    """Prometheus HTTP API that has every cluster's dynamic_score; empty: the snapshot has no raw values."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Of the whole process."""

    hub_namespace: str
    argocd_namespace: str
    metrics_host: str
    metrics_port: int
    probe_interval: float
    probe_timeout: float
    replica: str = field(default_factory=socket.gethostname)
    """Name of the pod: with it begins the holder of the Lease, and an admission policy compares both."""
    suspension: SuspensionSettings = SuspensionSettings()
    git: GitSettings | None = None
    """None: it only reports."""
    proposals: ProposalSettings = ProposalSettings()
    state: StateSettings = StateSettings()
