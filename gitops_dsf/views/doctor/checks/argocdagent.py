"""Checks argocd-agent, with which Argo CD on each cluster pulls its Applications from the hub.

The names of labels, settings and annotations are those of argocd-agent 0.7 to 0.9
(docs/start/delivery.md#argocd-agent).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from packaging.version import Version

from gitops_dsf.hub.names import SKIP_RECONCILE_ANNOTATION
from gitops_dsf.hub.times import age_text, seconds_of
from gitops_dsf.views.doctor.checks.argocd import WORKLOADS, workloads
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import HubObject, containers_of, is_true, name_of, version_of
from gitops_dsf.wording import names_text, plural

NEEDS: Final = (
    FactSource.CLUSTER_SECRETS,
    FactSource.AGENT_PARAMETERS,
    FactSource.AGENT_APPLICATIONS,
    *WORKLOADS,
)
PARAMETERS: Final = "argocd-agent-params"
"""The ConfigMap with the settings of the principal."""
_AGENT_LABEL: Final = "argocd-agent.argoproj-labs.io/agent-name"
"""The label of a cluster Secret of Argo CD with the agent through which the cluster is reached."""
_MAPPING: Final = "principal.destination-based-mapping"
_MAPPING_VARIABLE: Final = "ARGOCD_PRINCIPAL_DESTINATION_BASED_MAPPING"
_CONTROLLER: Final = "application-controller"
SILENT_SECONDS: Final = 3600.0
"""Argo CD compares each Application every three minutes at most by its defaults (3.6.1:
timeout.reconciliation of 120 s, and 60 s of jitter). Some people compare more rarely.
"""
_MINIMUM: Final = Version("3.4")
"""The first Argo CD that leaves alone a cluster whose Secret says so."""


def argocd_agent_of(secret: HubObject) -> str:
    """The argocd-agent of a cluster Secret; empty if Argo CD reaches the cluster itself."""
    return str((secret["metadata"].get("labels") or {}).get(_AGENT_LABEL) or "")


def argocd_agent(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do Applications that a decision creates reach clusters through argocd-agent?"""
    secrets = [secret for secret in facts.of(FactSource.CLUSTER_SECRETS) if argocd_agent_of(secret)]
    if not secrets:
        yield ok("Argo CD reaches no cluster through argocd-agent")
        return
    yield from _mapping(facts)
    yield from _controller(facts, secrets)
    yield from _silent(facts, secrets)
    yield ok(f"{plural(len(secrets), 'cluster')} through argocd-agent, by destination")


def _mapping(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does the principal choose the agent by the destination of an Application?

    By default it chooses by the namespace, and an ApplicationSet creates all its Applications in
    its own namespace.
    """
    value = _written_mapping(facts)
    patch = f'{{"data":{{"{_MAPPING}":"true"}}}}'
    fix = (
        f"{facts.in_argocd('patch', 'configmap', PARAMETERS, '--type=merge', '-p', patch)}"
        "  # then restart the principal, and set agent.destination-based-mapping on each cluster"
    )
    if value is None:
        yield unknown(
            "how argocd-agent maps Applications to agents is not known: namespace"
            f" {facts.argocd_namespace} has neither {_MAPPING} in ConfigMap {PARAMETERS} nor"
            f" {_MAPPING_VARIABLE} in a Deployment; it must map by destination",
            fix,
        )
    elif not is_true(value):
        yield error(
            "argocd-agent maps Applications to agents by namespace, so no Application that a"
            " decision creates reaches its cluster",
            fix,
        )


def _written_mapping(facts: DoctorFacts) -> str | None:
    """Whether the principal maps by destination, as it is written; None if it is not written."""
    for deployment in facts.of(FactSource.ARGOCD_DEPLOYMENTS):
        for container in containers_of(deployment):
            for variable in container.get("env") or ():
                # With valueFrom it is the value of the ConfigMap.
                if variable.get("name") == _MAPPING_VARIABLE and "value" in variable:
                    return str(variable["value"])
    data = (facts.one(FactSource.AGENT_PARAMETERS) or {}).get("data") or {}
    return str(data[_MAPPING]) if _MAPPING in data else None


def _controller(facts: DoctorFacts, secrets: Sequence[HubObject]) -> Iterator[DoctorFinding]:
    """Does the hub's Application controller apply the rendered tree, and only that?"""
    programs = workloads(facts)
    controllers = [program for program in programs if _CONTROLLER in name_of(program)]
    if programs and not controllers:
        yield error(
            f"namespace {facts.argocd_namespace} has no Application controller, so nothing applies"
            " the rendered tree on the hub",
            "run Argo CD's Application controller on the hub, too"
            " (docs/start/delivery.md#argocd-agent)",
        )
    if not controllers:
        return
    # `argocd-agentctl agent create` writes the annotation. If it was removed, the controller of the
    # hub and the agent both apply the Application.
    deployed = sorted(name_of(secret) for secret in secrets if not _is_skipped(secret))
    if deployed:
        annotate = ("annotate", "--overwrite", "secret", deployed[0])
        yield warning(
            f"{names_text(deployed)}: the Application controller of the hub deploys to this"
            " cluster, as its argocd-agent does",
            facts.in_argocd(*annotate, f"{SKIP_RECONCILE_ANNOTATION}=true"),
        )
    for controller in controllers:
        version = version_of(controller)
        # An image by digest has no version, and most Argo CDs are new enough.
        if version is not None and version < _MINIMUM:
            yield warning(
                f"{name_of(controller)} {version} deploys to clusters of argocd-agents, because it"
                f" ignores {SKIP_RECONCILE_ANNOTATION} of a cluster Secret",
                f"upgrade Argo CD to {_MINIMUM} or newer",
            )


def _silent(facts: DoctorFacts, secrets: Sequence[HubObject]) -> Iterator[DoctorFinding]:
    """Do the agents still report?

    The API of the hub has no condition of an agent: the principal keeps its connection in Redis.
    But an agent reports each comparison, so the last one of a cluster is as old as its report.
    """
    agents = {argocd_agent_of(secret) for secret in secrets}
    newest: dict[str, float] = {}
    for application in facts.of(FactSource.AGENT_APPLICATIONS):
        agent = str(application["spec"]["destination"].get("name"))
        compared = seconds_of(application["status"]["reconciledAt"])
        # Before the first report this is unknown.
        if agent in agents and compared is not None:
            newest[agent] = max(newest.get(agent, compared), compared)
    for agent, compared in sorted(newest.items()):
        age = facts.inputs.now.timestamp() - compared
        if age > SILENT_SECONDS:
            yield warning(
                f"{agent} reported no comparison of an Application for {age_text(age)}, so what the"
                " hub says of their health is as old: its argocd-agent or its Argo CD is down, or"
                " timeout.reconciliation there is longer",
                f"argocd cluster list  # is the agent of {agent} connected?",
            )


def _is_skipped(secret: HubObject) -> bool:
    """Whether the Application controller of the hub ignores the cluster."""
    annotations = secret["metadata"].get("annotations") or {}
    return str(annotations.get(SKIP_RECONCILE_ANNOTATION)).lower() == "true"
