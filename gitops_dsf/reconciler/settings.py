"""Settings of the reconciler, by the command line. Durations are in seconds."""

import socket
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class SuspensionSettings:
    """Whether scorers that do not answer are suspended, and how many clusters must agree."""

    enabled: bool = False
    quorum_percent: int = 50
    """Percentage of the counted clusters that must have no fresh score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GitSettings:
    """The fleet repository, and how to write to it."""

    url: str
    branch: str = "main"
    """The protected branch, which Argo CD follows."""
    path: str = ""
    """Folder of the fleet in the repository."""
    credentials: Path | None = None
    """Folder of a mounted Secret with token, or username and password, or ssh-privatekey and known_hosts. It
    is read for each use.
    """
    work_dir: Path | None = None
    """Folder of the shallow clone. None: a temporary folder."""
    author: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ProposalSettings:
    """What is proposed, and how."""

    kinds: frozenset[str] = frozenset()
    """locks, inventory."""
    prefix: str = "gitops-dsf/"
    """Start of the names of branches."""
    message_template: str = ""
    """Empty: the built-in one."""
    forge: str = ""
    """github, or empty: branches without pull requests."""
    forge_url: str = ""
    """Address of the forge's API. Empty: the public one."""
    interval: float = 60.0
    max_open: int = 10
    """Open proposals at most."""
    direct: bool = False
    """Commit to the protected branch, without pull requests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StateSettings:
    """The snapshot for previews."""

    branch: str = ""
    """Empty: no snapshot is written."""
    interval: float = 300.0
    placement_namespaces: tuple[str, ...] = ()
    """Namespaces outside of Argo CD's whose decisions are in the snapshot too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalSettings:
    """The journal of decisions."""

    branch: str = ""
    """Empty: nothing is recorded."""
    interval: float = 300.0
    """Seconds between two pushes, while there is something to push."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Settings of the whole process."""

    hub_namespace: str
    argocd_namespace: str
    metrics_host: str
    metrics_port: int
    probe_interval: float
    probe_timeout: float
    replica: str = field(default_factory=socket.gethostname)
    """Name of the pod. The holder of the Lease begins with it, and an admission policy compares both."""
    suspension: SuspensionSettings = SuspensionSettings()
    git: GitSettings | None = None
    """None: nothing is written to git."""
    proposals: ProposalSettings = ProposalSettings()
    state: StateSettings = StateSettings()
    journal: JournalSettings = JournalSettings()
