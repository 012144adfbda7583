"""The sections spec.reconciler and spec.pace of gitops-dsf.yaml.

The first has the reconciler's Deployment on the hub and its rights; by the second the reconciler
admits moves. A value is checked here only on its own, and rules between fields are in
`resolve.rules`. The docstrings are the descriptions in the schemas.
"""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dsf_wire.rawscores import CLUSTER_LABEL
from gitops_dsf.forge.address import ForgeKind
from gitops_dsf.hub.names import JOURNAL_BRANCH
from gitops_dsf.published import image
from gitops_dsf.repository.model.base import Authored, DnsName, FieldError, Labels, Moment
from gitops_dsf.repository.model.pods import Image, PodToleration, PullSecrets, Quantity, each_once
from gitops_dsf.repository.model.scorer import Auth
from gitops_dsf.urls.store_pages import is_store_page, store_of_page


class Pace(Authored):
    """How fast applications may move by their scores. The reconciler admits the moves."""

    concurrent: Annotated[int, Field(ge=1, le=1000)] = 2
    """Moves under way at a time, over all applications."""
    arrivals_per_cluster: Annotated[int, Field(ge=1, le=1000)] = 1
    """Applications that a cluster may receive before its scores have measured them."""
    settle_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = None
    """Seconds after an arrival until the scores count as measured. When absent, the time until a
    new measurement is published, and the query range, of the scorers that rank the application.
    """
    cooldown_seconds: Annotated[int, Field(ge=0, le=604_800)] = 3600
    """Seconds between two moves of one application."""
    refuges: bool = False
    """Whether the reconciler plans where each application goes when its cluster is lost. OCM
    follows the plan also while the reconciler does not run.
    """
    stop_after_returns: Annotated[int, Field(ge=1, le=100)] = 3
    """Applications that may go back within returnsWindowSeconds. With this many, no move begins any
    more until a person acknowledges it.
    """
    returns_window_seconds: Annotated[int, Field(ge=60, le=604_800)] = 3600
    """Seconds over which applications that went back are counted."""
    acknowledged_stop: Moment | None = None
    """Moves go on that stopped at this time or earlier, such as "2026-11-24T20:00:00Z". `status`
    shows the time.
    """

    def measured_after(self, by_scorers: float) -> float:
        """Seconds after which the scores of a cluster have measured an arrival.

        `by_scorers` is what the scorers say. `settleSeconds` overrides it.
        """
        return by_scorers if self.settle_seconds is None else self.settle_seconds


DEFAULT_RECONCILER_IMAGE = image("reconciler")

HttpUrl = Annotated[str, Field(pattern=r"^https?://[^\s@]+$")]
OneLine = Annotated[str, Field(pattern=r"^[^\r\n<>]+$")]
"""A name or an address that git accepts."""
BranchName = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_]|[./][-A-Za-z0-9_])*/?$", max_length=200)
]
"""A part of the names that git accepts: letters, digits, - and _, with single dots and slashes in
between.
"""


class ReconcilerResources(Authored):
    """Requests and limits of the reconciler's container."""

    requests: dict[str, Quantity] = {"cpu": "50m", "memory": "128Mi"}
    """Resources that the scheduler reserves."""
    limits: dict[str, Quantity] = {"memory": "512Mi"}
    """Resources that the container cannot exceed."""


class Monitoring(Authored):
    """Objects for Prometheus and Grafana on the hub."""

    service_monitor: bool = False
    """Renders a ServiceMonitor for the reconciler's metrics; needs the CRDs of the Prometheus
    operator on the hub.
    """
    rules: bool = False
    """Renders the alert rules as a PrometheusRule; needs the CRDs of the Prometheus operator on the
    hub.
    """
    dashboard: bool = False
    """Renders the Grafana dashboard as a ConfigMap with label grafana_dashboard, which Grafana's
    sidecar looks for.
    """


class Probing(Authored):
    """How the hub probes scoring APIs."""

    interval_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """Seconds between two rounds of probes."""
    # Upstream's controller asks without a limit and one API after another, so one that hangs stops
    # all checks (addon-contrib f5844b9).
    timeout_seconds: Annotated[int, Field(ge=1, le=60)] = 5
    """Seconds for each page, from connecting to the last byte."""


class CommitAuthor(Authored):
    """Author of the commits."""

    name: OneLine
    """Name of the author and committer."""
    email: OneLine
    """Mail address of the author and committer."""


class Proposals(Authored):
    """Changes that the reconciler proposes as commits for review, one branch for each kind."""

    kinds: list[Literal["Locks", "Inventory"]] = []
    """Locks: a new lock when /config of a scorer drifted. Inventory: clusters that joined, left or
    changed labels. Empty: none.
    """
    interval_seconds: Annotated[int, Field(ge=1, le=86_400)] = 60
    """Seconds between two comparisons of hub and repository."""
    author: CommitAuthor | None = None
    """Author of the commits; gitops-dsf when absent."""
    forge: Literal["None", ForgeKind] = "None"
    """Opens pull requests, with the token in gitSecret; Gitea is also Forgejo. None: only pushes
    branches.
    """
    forge_url: Annotated[HttpUrl | None, Field(alias="forgeURL")] = None
    """URL of the forge's API, such as https://git.example.com/gitlab/api/v4; by default that of the
    host of git.url.
    """

    @model_validator(mode="after")
    def _a_forge_has_a_kind(self) -> Self:
        if self.forge_url is not None and self.forge == "None":
            raise ValueError(
                "forgeURL names the API of a forge, but forge is None: write forge: GitHub, GitLab"
                " or Gitea, or leave forgeURL out"
            )
        return self


class StateBranch(Authored):
    """The snapshot of scores, decisions, taints and claims that previews of pull requests read."""

    enabled: bool = False
    """Pushes the snapshot to a branch of the repository."""
    branch: BranchName = "gitops-dsf-state"
    """Branch that only the reconciler writes. Its history is kept short."""
    interval_seconds: Annotated[int, Field(ge=10, le=86_400)] = 300
    """Seconds between two snapshots; nothing is pushed when nothing changed."""


class MetricStore(Authored):
    """A metric store that has the raw scores of all clusters, the metric dynamic_score.

    It runs on the hub or beside it. The state branch then has the raw scores, too, so that previews
    compute scores exactly.
    """

    host: HttpUrl
    """URL of the store, or of its query API."""
    cluster_label: Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_]*$")] = CLUSTER_LABEL
    """Label of dynamic_score that names the cluster."""
    interval_seconds: Annotated[int, Field(ge=60, le=1800)] = 600
    """Seconds between two looks at the store. Raw scores alone change the branch no more often."""
    auth: Auth | None = None
    """How the reconciler authenticates, and which CA it trusts. The Secrets and ConfigMaps are in
    hubNamespace. They are mounted, and not read through the API.
    """

    @property
    def objects(self) -> tuple[str, ...]:
        """The Secrets and ConfigMaps that `auth` names, sorted."""
        if self.auth is None:
            return ()
        auth = self.auth
        # All are mounted as files, so the renderer must know each of them.
        references = (
            auth.token_secret_ref,
            auth.ca_config_map_ref,
            auth.client_certificate_secret_ref,
            None if auth.oauth2 is None else auth.oauth2.client_secret_ref,
            None if auth.oauth2 is None else auth.oauth2.ca_config_map_ref,
        )
        names = {reference.name for reference in references if reference is not None}
        return tuple(sorted(names))


class JournalBranch(Authored):
    """A record of each changed decision: from where to where, and why.

    `gitops-dsf log` reads it.
    """

    enabled: bool = False
    """Appends the records to a branch of the repository."""
    branch: BranchName = JOURNAL_BRANCH
    """Branch of the journal. The reconciler only appends to it, and never pushes with force."""
    interval_seconds: Annotated[int, Field(ge=10, le=300)] = 300
    """Seconds between two pushes. A leader that is killed loses what is not pushed yet."""


class GitSecret(Authored):
    """A Secret in hubNamespace with credentials for pushing.

    It is mounted, and not read through the API.
    """

    name: DnsName
    """Name of the Secret. Its keys: token, or username and password, or ssh-privatekey and
    known_hosts.
    """


class Reconciler(Authored):
    """The reconciler's Deployment on the hub."""

    enabled: bool = True
    """Renders the reconciler. Without it there is no status, moves wait for Argo CD's next poll,
    and MakeBeforeBreak behaves like Keep.
    """
    image: Image = DEFAULT_RECONCILER_IMAGE
    """Container image, preferably pinned by digest. No registry has the default (DSF191)."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """Kubernetes image pull policy."""
    image_pull_secrets: PullSecrets = []
    """Secrets in hubNamespace with credentials for registries."""
    resources: ReconcilerResources = ReconcilerResources()
    """Requests and limits."""
    # A second pod takes over within seconds. A new pod would first need a node and an image.
    replicas: Annotated[int, Field(ge=1, le=5)] = 2
    """Number of pods. One leads, and another one takes over within 17 s."""
    node_selector: Labels = {"kubernetes.io/os": "linux"}
    """Nodes that may run the reconciler."""
    tolerations: list[PodToleration] = []
    """Kubernetes tolerations of the reconciler's pods."""
    monitoring: Monitoring = Monitoring()
    """Objects for Prometheus and Grafana on the hub."""
    probe: Probing = Probing()
    """How the hub probes scoring APIs."""
    proposals: Proposals = Proposals()
    """Changes that the reconciler proposes as commits, for people to review."""
    state: StateBranch = StateBranch()
    """The snapshot that previews read."""
    metric_store: MetricStore | None = None
    """Where the raw scores of the snapshot are from. Without it the snapshot has none."""
    journal: JournalBranch = JournalBranch()
    """The record of changed decisions."""
    git_secret: GitSecret | None = None
    """Credentials for pushing proposals, the snapshot and the journal. Without the Secret the
    reconciler starts, too, but pushes nothing.
    """
    config_credentials: Annotated[
        list[DnsName], AfterValidator(each_once), Field(max_length=50)
    ] = []
    """Secrets and ConfigMaps in hubNamespace that scoring.auth of scorers names, for /config and
    /healthz. They are mounted, and not read through the API. One that does not exist is left out.
    """

    @model_validator(mode="after")
    def _a_store_is_of_use(self) -> Self:
        store = self.metric_store
        if store is None:
            return self
        if not self.state.enabled:
            raise FieldError(
                "the store is read for the state branch alone, which is not enabled: write state:"
                " {enabled: true}, or remove metricStore",
                "metricStore",
            )
        if is_store_page(store.host):
            base = store_of_page(store.host) or "the URL of the metric store"
            raise FieldError(
                f"{store.host} is a page for people, and no API: write {base}",
                "metricStore",
                "host",
            )
        if store.auth is not None and store.auth.service_account_token:
            raise FieldError(
                "the reconciler's own token is good for the API server of the hub, and is not sent:"
                " name another one with tokenSecretRef",
                "metricStore",
                "auth",
                "serviceAccountToken",
            )
        return self

    @property
    def uses_git(self) -> bool:
        return bool(self.proposals.kinds) or self.state.enabled or self.journal.enabled
