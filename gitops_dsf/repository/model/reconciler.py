"""spec.reconciler of gitops-dsf.yaml: the Deployment on the hub that observes what git cannot know, and what
it may do about it.
"""

from string import Formatter
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from gitops_dsf import __version__
from gitops_dsf.repository.model.base import Authored, DnsName, Labels

DEFAULT_RECONCILER_IMAGE = f"ghcr.io/gitops-dsf/gitops-dsf-reconciler:{__version__}"

NonEmpty = Annotated[str, Field(min_length=1)]
HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s@]+$")]
OneLine = Annotated[str, Field(pattern=r"^[^\r\n<>]+$")]
"""What git takes for a name or an address."""
BranchName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_]|[./][-A-Za-z0-9_])*/?$", max_length=200)
]
"""Of what git takes, what needs no thought: letters, digits, - and _, with single dots and slashes in
between.
"""


class ReconcilerResources(Authored):
    """Requests and limits of the reconciler's container."""

    requests: Labels = {"cpu": "50m", "memory": "128Mi"}
    """What the scheduler sets aside."""
    limits: Labels = {"memory": "512Mi"}
    """What the container may not exceed."""


class Monitoring(Authored):
    """What Prometheus and Grafana on the hub are given."""

    service_monitor: bool = False
    """Renders a ServiceMonitor for the reconciler's metrics; needs the CRDs of the Prometheus operator on the
    hub.
    """
    rules: bool = False
    """Renders the alert rules as a PrometheusRule; needs the CRDs of the Prometheus operator on the hub."""
    dashboard: bool = False
    """Renders the Grafana dashboard as a ConfigMap with label grafana_dashboard, which Grafana's sidecar
    looks for.
    """


class Probing(Authored):
    """How scoring APIs are probed from the hub."""

    interval_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """Seconds between two rounds of probes."""
    timeout_seconds: Annotated[int, Field(ge=1, le=60)] = 5
    """Seconds for each page, from connecting to the last byte."""


class Suspension(Authored):
    """Whether a scorer that neither the hub nor the agents reach is suspended."""

    enabled: bool = False
    """Suspends: agents stop calling the scorer until it answers again; nothing that was published is deleted.
    """
    quorum_percent: Annotated[int, Field(ge=1, le=100)] = 50
    """Percentage of the scorer's clusters that must have no fresh score before it is suspended."""


class CommitAuthor(Authored):
    """Who the commits are by."""

    name: OneLine
    """Name of the author and committer."""
    email: OneLine
    """Mail address of the author and committer."""


class Proposals(Authored):
    """What the reconciler brings back to git, as commits for people to review."""

    kinds: list[Literal["Locks", "Inventory"]] = []
    """Locks: a new lock when /config of a scorer drifted. Inventory: clusters that joined, left or changed
    labels. Empty: none.
    """
    interval_seconds: Annotated[int, Field(ge=1, le=86_400)] = 60
    """Seconds between two looks at what to propose."""
    max_open: Annotated[int, Field(ge=1, le=100)] = 10
    """Proposals that wait for people at a time; more are offered when these are done."""
    branch_prefix: BranchName = "gitops-dsf/"
    """Start of the names of the branches; the rest is a digest of what is proposed."""
    author: CommitAuthor | None = None
    """Who the commits are by; absent: gitops-dsf."""
    message_template: NonEmpty | None = None
    """Text of the commits; {subject} and {body} are filled in. Absent: the subject, an empty line, the body.
    """
    forge: Literal["None", "GitHub"] = "None"
    """GitHub: pull requests are opened, with the token of gitSecret. None: branches alone."""
    forge_url: Annotated[HttpUrl | None, Field(alias="forgeURL")] = None
    """API of the forge where it is not the public one, such as https://github.example.com/api/v3."""
    direct: bool = False
    """Commits to git.targetRevision instead of offering branches; the branch must let the reconciler push."""

    @field_validator("message_template")
    @classmethod
    def _known_placeholders(cls, text: str | None) -> str | None:
        try:
            names = {name for _, name, _, _ in Formatter().parse(text or "") if name is not None}
        except ValueError as error:
            msg = (
                f"a brace has no partner ({error}): write {{{{ and }}}} for braces that stand for themselves"
            )
            raise ValueError(msg) from error
        if names - {"subject", "body"}:
            msg = f"{{{min(names - {'subject', 'body'})}}} is not known: write {{subject}} and {{body}}"
            raise ValueError(msg)
        return text

    @model_validator(mode="after")
    def _one_way_to_offer(self) -> Self:
        if self.direct and self.forge != "None":
            msg = (
                "direct commits to git.targetRevision, so there is no pull request that the forge could open:"
                " leave direct or forge out"
            )
            raise ValueError(msg)
        if self.forge_url is not None and self.forge == "None":
            msg = (
                "forgeURL names the API of a forge, but forge is None: write forge: GitHub, or leave"
                " forgeURL out"
            )
            raise ValueError(msg)
        return self


class StateBranch(Authored):
    """The snapshot of scores, decisions, taints and claims that previews of pull requests read."""

    enabled: bool = False
    """Keeps the snapshot on a branch of the repository."""
    branch: BranchName = "gitops-dsf-state"
    """Branch that the reconciler alone writes; its history is kept short."""
    interval_seconds: Annotated[int, Field(ge=10, le=86_400)] = 300
    """Seconds between two snapshots; nothing is pushed when nothing changed."""
    raw_scores_url: Annotated[HttpUrl | None, Field(alias="rawScoresURL")] = None
    """Prometheus API that has dynamic_score of every cluster, for raw values in the snapshot. Absent:
    published scores alone.
    """


class GitSecret(Authored):
    """A Secret in hubNamespace with credentials for pushing; it is mounted, never read through the API."""

    name: DnsName
    """Name of the Secret. Its keys: token, or username and password, or ssh-privatekey and known_hosts."""


class Reconciler(Authored):
    """The reconciler's Deployment on the hub. Rendered with delivery.mode ManifestWork only."""

    enabled: bool = True
    """Renders the reconciler. Without it nothing is reported, moves wait for Argo CD's next poll, and
    MakeBeforeBreak behaves as Keep.
    """
    image: NonEmpty = DEFAULT_RECONCILER_IMAGE
    """Container image, best pinned by digest."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """Kubernetes image pull policy."""
    resources: ReconcilerResources = ReconcilerResources()
    """Requests and limits."""
    replicas: Annotated[int, Field(ge=1, le=5)] = 2
    """Pods; one leads, the others take over within 17 s."""
    node_selector: Labels = {"kubernetes.io/os": "linux"}
    """Nodes that may run the reconciler."""
    tolerations: list[dict[str, Any]] = []
    """Kubernetes tolerations of the reconciler's pods."""
    monitoring: Monitoring = Monitoring()
    """What Prometheus and Grafana on the hub are given."""
    probe: Probing = Probing()
    """How scoring APIs are probed from the hub."""
    suspend: Suspension = Suspension()
    """Whether a scorer that neither the hub nor the agents reach is suspended."""
    proposals: Proposals = Proposals()
    """What the reconciler brings back to git."""
    state: StateBranch = StateBranch()
    """The snapshot that previews read."""
    git_secret: GitSecret | None = None
    """Credentials for pushing proposals and the snapshot. The reconciler starts without the Secret, too, and
    only reports.
    """

    @property
    def uses_git(self) -> bool:
        """Whether anything is pushed."""
        return bool(self.proposals.kinds) or self.state.enabled
