"""gitops-dsf.yaml: how this repository is rendered and delivered."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from dsf_wire.proxies import entry_faults
from dsf_wire.weburl import is_web_url
from gitops_dsf.forge.address import address_of
from gitops_dsf.hub.delivery import OUR_CRDS, addon_of, delivers_upstream
from gitops_dsf.hub.names import ARGOCD_NAMESPACE, HUB_NAMESPACE, IN_CLUSTER
from gitops_dsf.hub.namespaces import Platform
from gitops_dsf.published import image
from gitops_dsf.repository.model.base import (
    BRANCH,
    HOST_GLOB,
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    FieldError,
    Labels,
    LabelSelector,
    Metadata,
)
from gitops_dsf.repository.model.external_scores import ExternalScore
from gitops_dsf.repository.model.pods import Image, Memory, PodToleration, PullSecrets, Quantity
from gitops_dsf.repository.model.reconciler import Pace, Reconciler
from gitops_dsf.repository.model.remote_write import RemoteWrite
from gitops_dsf.urls.git import GIT_URLS, PUSHABLE, browsed_branch, git_fault

RESOURCE_ATTRIBUTES: Final = (
    "k8s.namespace.name",
    "k8s.node.name",
    "k8s.pod.name",
    "k8s.container.name",
    "k8s.deployment.name",
    "k8s.statefulset.name",
    "k8s.daemonset.name",
    "k8s.job.name",
    "host.name",
    "service.name",
    "service.namespace",
)
"""Prometheus keeps the others in the series target_info."""

DECISION_READERS: Final = ("argocd-applicationset-controller", "argocd-server")
"""As Argo CD's own manifests name them."""
DEFAULT_IMAGE = image("agent")
ROLLOUT_FIELDS: Final = ("image", "image_pull_secrets", "node_selector", "tolerations", "resources")
"""The fields of `AgentRollout` that replace those of `Agent`."""
MAX_SHARDS: Final = 100
"""works-NN has two digits."""


def placeholder_url(name: str) -> str:
    """The git URL of a fleet of this name that `init` writes when it is given none."""
    return f"https://git.example.com/platform/{name}.git"


def mebibytes(quantity: str) -> int:
    return int(quantity[:-2]) * (1024 if quantity.endswith("Gi") else 1)


class Git(Authored):
    """The repository as Argo CD reads it."""

    url: Annotated[str, Field(min_length=1)]
    """URL that Argo CD clones."""
    target_revision: str = "main"
    """Branch that Argo CD follows with output.mode Directory."""
    path: str = ""
    """Folder of this fleet inside the repository; empty for its root."""

    @field_validator("url")
    @classmethod
    def _can_be_cloned(cls, url: str) -> str:
        if fault := git_fault(url):
            raise ValueError(f"{url}: {fault.message}; {fault.hint}")
        clonable, branch = browsed_branch(url)
        if clonable:
            raise ValueError(
                f"{url} is a page to look at: write {clonable}, and targetRevision: {branch}"
            )
        return url


class ArgoCd(Authored):
    """Where Argo CD runs on the hub."""

    namespace: DnsLabel = ARGOCD_NAMESPACE
    """Namespace of Argo CD; Placements and ApplicationSets are rendered into it."""
    project: DnsLabel = "gitops-dsf"
    """AppProject of the Applications that apply the rendered tree."""
    destination_server: str = IN_CLUSTER
    """API server of the hub as Argo CD knows it."""
    # The roles of both in Argo CD 3.6.1 cannot list PlacementDecisions.
    decision_readers: Annotated[list[DnsName], Field(min_length=1)] = list(DECISION_READERS)
    """ServiceAccounts of Argo CD that get the right to list PlacementDecisions: that of the
    ApplicationSet controller, and for previews in the user interface that of the server. Helm and
    OpenShift GitOps use other names.
    """

    @property
    def works_project(self) -> str:
        """AppProject of the Applications that apply the works."""
        return f"{self.project}-works"

    @property
    def platform_projects(self) -> tuple[str, str]:
        """The AppProjects that are rendered: for the works, and for everything else.

        An Application in one of them acts with the rights of the platform.
        """
        return self.project, self.works_project


class Resources(Authored):
    """Requests and limits of the agent's container."""

    requests: dict[str, Quantity] = {"cpu": "20m", "memory": "96Mi"}
    """Resources that the scheduler reserves."""
    limits: dict[str, Quantity] = {"memory": "256Mi"}
    """Resources that the container cannot exceed."""


class Egress(Authored):
    """Where the agent or the hub scorer may connect to."""

    mode: Literal["Open", "Limited"] = "Open"
    """Open: anywhere. Limited: a NetworkPolicy allows DNS, the ports of API servers, and the
    sources and scoring APIs of the scorers that run there. The agent's is in each ManifestWork.
    """
    api_server_ports: Annotated[
        list[Annotated[int, Field(ge=1, le=65535)]], Field(min_length=1)
    ] = [
        443,
        6443,
    ]
    """Ports at which the agent reaches the API servers of the hub and of its own cluster."""
    rules: list[dict[str, Any]] = []
    """Further egress rules, as a NetworkPolicy has them: for Services whose pods use the host's
    network, that have no pods in the cluster, or that a scorer names by address.
    """

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.mode == "Open" and (
            unused := {"api_server_ports", "rules"} & self.model_fields_set
        ):
            name = "rules" if "rules" in unused else "apiServerPorts"
            msg = (
                f"{name} has no effect while egress.mode is Open: write mode: Limited, or remove"
                f" {name}"
            )
            raise FieldError(msg, name)
        foreign = sorted({key for rule in self.rules for key in rule} - {"to", "ports"})
        if foreign:
            msg = (
                f"{foreign[0]} is not a field of an egress rule: write to and ports, as in a"
                " NetworkPolicy"
            )
            raise FieldError(msg, "rules")
        return self


class Proxy(Authored):
    """The proxy of the agents' network, in the spelling of OCM's AddOnDeploymentConfig and of
    OpenShift. OCM sets the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the agent's pod.
    """

    # OCM 1.2.1 sets the variables in every container of the add-on's pods, in upper and lower case
    # (pkg/addon/templateagent/decorator.go).
    http_proxy: str | None = None
    """Proxy for http URLs, such as http://proxy.example.com:3128."""
    https_proxy: str | None = None
    """Proxy for https URLs: the API servers of the hub and of the cluster are among them."""
    no_proxy: str = ""
    """What is called directly: names with their subdomains, addresses and ranges, with commas
    between them. The network of the cluster's Services must be there: the agent calls its own API
    server by address.
    """

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that OCM sets in the pod."""
        values = {
            "HTTP_PROXY": self.http_proxy,
            "HTTPS_PROXY": self.https_proxy,
            "NO_PROXY": self.no_proxy,
        }
        return {name: value for name, value in values.items() if value}

    @property
    def urls(self) -> tuple[str, ...]:
        """The proxies themselves, each once."""
        return tuple(dict.fromkeys(url for url in (self.http_proxy, self.https_proxy) if url))

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        urls = {"httpProxy": self.http_proxy, "httpsProxy": self.https_proxy}
        for name, url in urls.items():
            if url is None:
                continue
            if "@" in url:
                msg = f"{name} holds a user or a password, and everybody can read this repository"
                raise FieldError(msg, name)
            if "://" not in url or not is_web_url(url):
                msg = (
                    f"{name} is {url or 'empty'}: write an http or https URL, such as"
                    " http://proxy.example.com:3128"
                )
                raise FieldError(msg, name)
        if not any(urls.values()):
            raise ValueError("no proxy is named: write httpProxy or httpsProxy")
        # OCM hands the text on to the pod as it is, where a part that makes no sense is ignored.
        for entry in entry_faults(self.no_proxy.split(",")):
            msg = (
                f"noProxy has {entry}: write names, addresses or ranges, such as .svc,10.96.0.0/12"
            )
            raise FieldError(msg, "noProxy")
        return self


class OpenTelemetry(Authored):
    """Prometheus as a receiver for OpenTelemetry metrics, in the agent's pod. It runs on clusters
    with a scorer whose source.type is OpenTelemetry.
    """

    image: Image
    """Image of Prometheus 3.12 or newer, preferably pinned by digest."""
    collector_namespaces: Annotated[list[DnsLabel], Field(min_length=1)]
    """Namespaces whose pods may push, if they have the label gitops-dsf.io/pushes-metrics: "true".
    """
    resource_attributes: list[Annotated[str, Field(pattern=r"^[^\s{}]+$")]] = list(
        RESOURCE_ATTRIBUTES
    )
    """OpenTelemetry resource attributes that become labels of every series."""
    cpu: Quantity = "50m"
    """CPU that the scheduler reserves."""
    memory: Memory = "256Mi"
    """Request and limit. Prometheus collects garbage more often above 60 % of it."""
    storage: Memory = "1Gi"
    """Size of the volume that keeps the history. It is an emptyDir: a new pod starts without
    history.
    """
    # 65534 is the user `nobody` of Prometheus' image, by number.
    run_as_user: Annotated[int, Field(ge=1)] | None = 65534
    """User of the container. The image of Prometheus names its user, and Kubernetes cannot tell
    whether a name is root. Write null on OpenShift, which assigns a user.
    """

    @model_validator(mode="after")
    def _can_start(self) -> Self:
        for name, text, least in (("memory", self.memory, 96), ("storage", self.storage, 256)):
            if mebibytes(text) < least:
                msg = f"{text} of {name} is too little for Prometheus: write {least}Mi or more"
                raise FieldError(msg, name)
        attributes = self.resource_attributes
        doubled = {name for name in attributes if attributes.count(name) > 1}
        # The smallest one, because a set has no order and findings must not differ between runs.
        if doubled:
            msg = f"{min(doubled)} is listed twice, and Prometheus refuses such a list: remove one"
            raise FieldError(msg, "resourceAttributes")
        return self


class AgentServiceMonitor(Authored):
    """A ServiceMonitor for the agent's metrics, on managed clusters with the Prometheus
    operator.
    """

    labels: Labels = {}
    """Labels by which the cluster's Prometheus selects ServiceMonitors."""
    interval: Annotated[str, Field(pattern=r"^[1-9][0-9]*(s|m)$")] = "30s"
    """Time between two scrapes."""
    cluster_selector: LabelSelector | None = None
    """Clusters that get it, by labels of the inventory; all when absent. A cluster without the CRDs
    of the Prometheus operator reports an error of its add-on.
    """


class RolloutResources(Authored):
    """Requests and limits on some clusters."""

    requests: dict[str, Quantity] | None = None
    """Resources that the scheduler reserves; spec.agent.resources.requests when absent."""
    limits: dict[str, Quantity] | None = None
    """Resources that the container cannot exceed; spec.agent.resources.limits when absent."""


class AgentRollout(Authored):
    """What is different for the agents of some clusters: a new version, or other nodes."""

    cluster_selector: LabelSelector
    """Clusters that it is for, by labels of the inventory."""
    image: Image | None = None
    """Container image, preferably pinned by digest."""
    image_pull_secrets: PullSecrets | None = None
    """Secrets with credentials for registries, instead of those of spec.agent."""
    node_selector: Labels | None = None
    """Nodes that may run the agent, instead of spec.agent.nodeSelector."""
    tolerations: list[PodToleration] | None = None
    """Kubernetes tolerations of the agent's pod, instead of those of spec.agent."""
    resources: RolloutResources | None = None
    """Requests and limits."""

    @property
    def changed(self) -> dict[str, Any]:
        """What it says, by the name of the field of `Agent`."""
        values: dict[str, Any] = {}
        for name in ROLLOUT_FIELDS:
            value = getattr(self, name)
            if value is not None:
                values[name] = value
        return values

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.changed:
            raise ValueError(
                "this entry changes nothing: write image, imagePullSecrets, nodeSelector,"
                " tolerations or resources"
            )
        return self


class Agent(Authored):
    """The spoke agent's Deployment."""

    image: Image = DEFAULT_IMAGE
    """Container image, preferably pinned by digest. No registry has the default (DSF191)."""
    rollout: list[AgentRollout] = []
    """What is different on some clusters. For each field counts the first entry that selects the
    cluster and has the field; what no entry says is as in spec.agent.
    """
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """Kubernetes image pull policy."""
    image_pull_secrets: PullSecrets = []
    """Secrets with credentials for registries, in the namespace dynamic-scoring of every managed
    cluster. OCM copies open-cluster-management-image-pull-credentials there; other Secrets must be
    created there.
    """
    resources: Resources = Resources()
    """Requests and limits."""
    node_selector: Labels = {"kubernetes.io/os": "linux"}
    """Nodes that may run the agent."""
    tolerations: list[PodToleration] = []
    """Kubernetes tolerations of the agent's pod."""
    log_format: Literal["json", "text"] = "json"
    """Format of the agent's log."""
    egress: Egress = Egress()
    """Where the agent may connect to."""
    proxy: Proxy | None = None
    """The proxy through which agents reach the hub, sources and scoring APIs; none when absent."""
    open_telemetry: OpenTelemetry | None = None
    """The receiver for OpenTelemetry metrics. Scorers with source.type OpenTelemetry need it."""
    service_monitor: AgentServiceMonitor | None = None
    """Renders a ServiceMonitor into the add-on; none when absent."""
    remote_write: RemoteWrite | None = None
    """Sends the raw scores of the clusters to a central store; not when absent."""


class HubResources(Resources):
    """Requests and limits of the hub scorer's container."""

    requests: dict[str, Quantity] = {"cpu": "100m", "memory": "128Mi"}
    limits: dict[str, Quantity] = {"memory": "512Mi"}


class HubScorer(Authored):
    """The hub scorer's Deployment, which runs scorers with runsOn: Hub. It is rendered when there
    is one.
    """

    image: Image | None = None
    """Container image of the agent, preferably pinned by digest; spec.agent.image when absent."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = "IfNotPresent"
    """Kubernetes image pull policy."""
    image_pull_secrets: PullSecrets = []
    """Secrets in the hub namespace with credentials for registries."""
    resources: HubResources = HubResources()
    """Requests and limits."""
    node_selector: Labels = {"kubernetes.io/os": "linux"}
    """Nodes that may run it."""
    tolerations: list[PodToleration] = []
    """Kubernetes tolerations of its pod."""
    log_format: Literal["json", "text"] = "json"
    """Format of its log."""
    egress: Egress = Egress()
    """Where it may connect to."""
    secrets: list[DnsName] = []
    """Secrets in the hub namespace that scorers with runsOn: Hub may name as tokens. Other Secrets
    of that namespace may belong to other programs.
    """


class Delivery(Authored):
    """What delivers the scoring configuration to the spokes."""

    mode: Literal["ManifestWork", "UpstreamController"] = "ManifestWork"
    """ManifestWork: rendered ManifestWorks do. UpstreamController: the upstream controller does,
    from the rendered custom resources, and its agents publish the scores.
    """
    # Red Hat's operator writes upstream's CRDs again at each reconcile (multiclusterhub-operator,
    # pkg/templates/crds/dynamic-scoring-framework), and they lack our fields.
    crds: Literal["Rendered", "Existing"] = "Rendered"
    """Who owns the CRDs of DynamicScorer and DynamicScoringConfig. Rendered: this repository.
    Existing: another program of the hub, such as Advanced Cluster Management, so they are not
    rendered, and DynamicScorers have only the fields that upstream's CRDs have. Always so with
    UpstreamController.
    """

    @property
    def is_ours(self) -> bool:
        """Whether rendered ManifestWorks and our agents deliver, and upstream's do not."""
        return not delivers_upstream(self.mode)

    @property
    def renders_crds(self) -> bool:
        """Whether the CRDs of the hub are ours."""
        return self.is_ours and self.crds == OUR_CRDS

    @property
    def addon(self) -> str:
        """The ManagedClusterAddOn of the agents that publish scores."""
        return addon_of(self.mode)


class Output(Authored):
    """Where the rendered tree is stored, and in how many directories."""

    mode: Literal["Directory", "Branch"] = "Directory"
    """Directory: in rendered/ next to the sources. Branch: CI renders to another branch after each
    merge.
    """
    branch: Annotated[str, Field(pattern=BRANCH)] = "gitops-dsf-rendered"
    """Branch that CI writes with mode Branch."""
    # One directory is one Application of Argo CD, whose manifests may have 10 MB together and must
    # be rendered within 60 s (Argo CD 3.6.1).
    shards: Annotated[int, Field(ge=1, le=MAX_SHARDS)] = 1
    """Number of works-NN directories; a cluster's directory depends on its name and this number
    only.
    """


class FleetRepositorySpec(Authored):
    """How this repository is rendered and delivered."""

    git: Git
    """The repository as Argo CD reads it."""
    hub_namespace: DnsLabel = HUB_NAMESPACE
    """Hub namespace of the DynamicScorers and of what the reconciler writes."""
    argocd: ArgoCd = ArgoCd()
    """Where Argo CD runs on the hub."""
    agent: Agent = Agent()
    """The spoke agent's Deployment."""
    hub_scorer: HubScorer = HubScorer()
    """The Deployment on the hub that runs scorers with runsOn: Hub."""
    reconciler: Reconciler = Reconciler()
    """The reconciler's Deployment on the hub."""
    pace: Pace | None = None
    """How fast applications may move by their scores; when absent, each follows its scores at once.
    """
    external_scores: list[ExternalScore] = []
    """Scores of other add-ons by which applications and Placements of this repository rank."""
    delivery: Delivery = Delivery()
    """What delivers the scoring configuration to the spokes."""
    output: Output = Output()
    """Where the rendered tree is stored, and in how many directories."""
    allowed_hosts: list[Annotated[str, Field(pattern=HOST_GLOB)]] = []
    """Hosts (shell-style globs) to which metrics may be sent: by a lock, besides the hosts that the
    scorer names, and outside of the clusters.
    """
    allowed_token_hosts: list[Annotated[str, Field(pattern=HOST_GLOB)]] = []
    """Hosts (shell-style globs) outside of the managed clusters that scorers may send tokens to.
    Services of the cluster need no entry.
    """
    # A tag can be moved by everybody who may push to the registry.
    require_image_digests: bool = False
    """Whether the images of agent and reconciler must be named by digest (`NAME@sha256:...`)."""
    allow_unmatched_selectors: bool = False
    """Whether a scorer or an application that no cluster of the inventory matches is a warning, and
    no error. For fleets whose clusters join later.
    """

    @property
    def delivers_works(self) -> bool:
        """Whether ManifestWorks deliver the configuration; else the upstream controller does."""
        return self.delivery.is_ours

    @property
    def renders_crds(self) -> bool:
        """Whether the CRDs of the hub are ours."""
        return self.delivery.renders_crds

    @property
    def platform(self) -> Platform:
        """The namespaces of the hub that belong to others, or to the reconciler."""
        return Platform(argocd=self.argocd.namespace, hub=self.hub_namespace)

    @model_validator(mode="after")
    def _reconciler_can_start(self) -> Self:
        # pydantic takes one error of a validator, so the first mistake is reported.
        for mistake in self._branch_mistakes():
            raise mistake
        for mistake in self._push_mistakes():
            raise mistake
        return self

    def _branch_mistakes(self) -> Iterator[FieldError]:
        """Branches that two writers would use. The reconciler refuses them when it starts."""
        people = self.git.target_revision
        output = self.output
        state = self.reconciler.state
        journal = self.reconciler.journal
        # The pipeline writes the rendered tree there, in place of what the branch had.
        if output.mode == "Branch" and output.branch == people:
            yield FieldError(
                f"output.branch is git.targetRevision ({people}), which people write: name another"
                " branch",
                "output",
                "branch",
            )
        # The branch of snapshots is forced, to keep its history short.
        if state.enabled and state.branch == people:
            yield FieldError(
                f"reconciler.state.branch is git.targetRevision ({people}): its content would be"
                " replaced; name another",
                "reconciler",
                "state",
                "branch",
            )
        used_branches = {people, output.branch}
        if state.enabled:
            used_branches.add(state.branch)
        # The reconciler only appends to the journal, so no other program may write to its branch.
        if journal.enabled and journal.branch in used_branches:
            yield FieldError(
                f"reconciler.journal.branch is {journal.branch}, which has another use already:"
                " name another branch",
                "reconciler",
                "journal",
                "branch",
            )

    def _push_mistakes(self) -> Iterator[FieldError]:
        """What the reconciler cannot push to, or where it cannot open pull requests."""
        reconciler = self.reconciler
        if reconciler.uses_git and self.git.target_revision == "HEAD":
            yield FieldError(
                "git.targetRevision is HEAD, and the reconciler must know which branch it may"
                " never force: write its name, such as main",
                "git",
                "targetRevision",
            )
        if (
            reconciler.state.enabled
            and reconciler.proposals.kinds
            and reconciler.state.branch == "gitops-dsf"
        ):
            # A ref is a file in git, so refs/heads/gitops-dsf cannot be a branch and a folder.
            yield FieldError(
                "reconciler.state.branch is gitops-dsf and proposals are branches below it, which"
                " git cannot have at once: name another one, such as gitops-dsf-state",
                "reconciler",
                "state",
                "branch",
            )
        if reconciler.uses_git and not PUSHABLE.fullmatch(self.git.url):
            yield FieldError(
                f"the reconciler cannot push to git.url {self.git.url}: write {GIT_URLS}",
                "git",
                "url",
            )
        forge = reconciler.proposals.forge
        if reconciler.proposals.kinds and forge != "None":
            try:
                address_of(self.git.url, kind=forge, api=reconciler.proposals.forge_url or "")
            except ValueError as error:
                yield FieldError(
                    f"reconciler.proposals.forge is {forge}, but {error}, or leave forge out",
                    "reconciler",
                    "proposals",
                    "forge",
                )


NO_SETTINGS: Final = FleetRepositorySpec(git=Git(url="https://example.com/fleet.git"))
"""The defaults, for what must go on although the settings are missing or cannot be read."""


class FleetRepository(Authored):
    """The settings of a fleet repository, in gitops-dsf.yaml at its root."""

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["FleetRepository"] = "FleetRepository"
    metadata: Metadata
    spec: FleetRepositorySpec
