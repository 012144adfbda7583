"""The sections of gitops-dsf.yaml about the programs that score: agent and hubScorer.

A value is checked here only on its own; rules about images, pods and proxies are in
`resolve.rules`. The docstrings are the descriptions in the schemas.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from dsf_wire.proxies import entry_faults
from dsf_wire.weburl import is_web_url
from gitops_dsf.published import image
from gitops_dsf.repository.model.base import (
    Authored,
    DnsLabel,
    DnsName,
    FieldError,
    Labels,
    LabelSelector,
)
from gitops_dsf.repository.model.pods import (
    Image,
    Memory,
    PodToleration,
    PullSecrets,
    Quantity,
    mebibytes,
)
from gitops_dsf.repository.model.remote_write import RemoteWrite

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
DEFAULT_IMAGE = image("agent")
ROLLOUT_FIELDS: Final = ("image", "image_pull_secrets", "node_selector", "tolerations", "resources")
"""The fields of `AgentRollout` that replace those of `Agent`."""


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
    """The proxy of the agents' network, spelled as in OCM's AddOnDeploymentConfig.

    OpenShift spells it so, too. OCM sets the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY of the
    agent's pod.
    """

    # OCM 1.2.1 sets the variables in every container of the add-on's pods, in upper and lower case
    # (pkg/addon/templateagent/decorator.go).
    http_proxy: str | None = None
    """Proxy for http URLs, such as http://proxy.example.com:3128."""
    https_proxy: str | None = None
    """Proxy for https URLs: the API servers of the hub and of the cluster are among them."""
    no_proxy: str = ""
    """What is called directly: names with their subdomains, addresses and ranges, separated by
    commas. The network of the cluster's Services must be among them, because the agent calls its
    own API server by address.
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
                msg = (
                    f"{name} holds a user or a password, which anyone with this repository can read"
                )
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
    """Prometheus as a receiver for OpenTelemetry metrics, in the agent's pod.

    It runs on clusters with a scorer whose source.type is OpenTelemetry.
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
    """A ServiceMonitor for the agent's metrics, on clusters with the Prometheus operator."""

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
    """Settings of the agents of some clusters, such as a new version or other nodes."""

    cluster_selector: LabelSelector
    """Clusters that the entry is for, by labels of the inventory."""
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
    """What is different on some clusters. Each field comes from the first entry that selects the
    cluster and has the field, or else from spec.agent.
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
    """The hub scorer's Deployment, which runs scorers with runsOn: Hub.

    It is rendered if there is such a scorer.
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
