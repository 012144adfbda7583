"""Checks Kueue, where Placements order clusters for its jobs.

It checks whether Kueue reads the order, and whether each MultiKueueConfig is ours and has every
decided cluster. The facts about Kueue are those of version 0.19.2.

Not guaranteed: that jobs are sent in this order. Kueue also looks at quota, and at clusters that it
cannot reach.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from packaging.version import Version

from dsf_wire.constants import MANAGED_BY_LABEL
from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.multikueue import (
    KUEUE_NAMESPACE,
    MAX_CLUSTERS,
    OCM_CONTROLLER,
    MultiKueueConfig,
    MultiKueueOrder,
    readable_order,
)
from gitops_dsf.hub.names import POD_LABEL, RECONCILER
from gitops_dsf.hub.objects import Placement
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, unknown, warning
from gitops_dsf.views.doctor.objects import HubObject, containers_of, is_true, name_of, versions_of
from gitops_dsf.wording import names_text, plural

SETTINGS: Final = "kueue-manager-config"
"""ConfigMap with Kueue's configuration, as its manifests and its chart name it."""
SETTINGS_KEY: Final = "controller_manager_config.yaml"
"""The key of that ConfigMap. The reader replaces its text with what the YAML says."""
MINIMUM: Final = Version("0.19")
"""Older ones nominate the clusters in alphabetical order (pkg/features/kube_features.go)."""
_INCREMENTAL: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"
_ALL_AT_ONCE: Final = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once"
"""The default: a copy of each job on every cluster, and the first that admits it wins."""
_ORDER_GATE: Final = "MultiKueueIncrementalDispatcherRespectConfigOrder"
_STEP_GATE: Final = "MultiKueueIncrementalDispatcherConfig"
_DEFAULT_STEP: Final = 3
"""Clusters that a round of the dispatcher adds. A round lasts 5 minutes."""
_GATES_FLAG: Final = "--feature-gates="


@dataclass(frozen=True, kw_only=True)
class _Ordered:
    """A Placement that orders a MultiKueueConfig."""

    placement: Placement
    order: MultiKueueOrder


def settings(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Does Kueue offer jobs to the clusters in the order of the scores?"""
    if not _ordered(facts):
        yield ok("no Placement orders clusters for jobs")
        return
    deployments = facts.of(FactSource.KUEUE_DEPLOYMENTS)
    if not deployments:
        yield warning(
            f"no Deployment of Kueue is in {KUEUE_NAMESPACE}, so no jobs are sent to clusters",
            f"install Kueue {MINIMUM} or newer: https://kueue.sigs.k8s.io/docs/installation",
        )
        return
    # Several Deployments may have Kueue's label. The oldest one could ignore the order.
    version = min(versions_of(deployments).values(), default=None)
    if version is None:
        yield warning(
            f"the version of Kueue is not known: the image in {KUEUE_NAMESPACE} has no tag",
            f"make sure that it is {MINIMUM} or newer",
        )
    elif version < MINIMUM:
        yield error(
            f"Kueue {version} offers jobs to clusters in alphabetical order, whatever their scores"
            " are",
            f"upgrade Kueue to {MINIMUM} or newer",
        )
    config = facts.one(FactSource.KUEUE_SETTINGS)
    configuration = ((config or {}).get("data") or {}).get(SETTINGS_KEY)
    if not isinstance(configuration, dict):
        yield unknown(
            f"ConfigMap {KUEUE_NAMESPACE}/{SETTINGS} has no configuration that can be read, so the"
            " dispatcher is not known",
            f"write multiKueue.dispatcherName: {_INCREMENTAL} into the configuration of Kueue",
        )
        return
    yield from _dispatcher(facts, configuration, _gates(configuration, deployments))
    yield ok(f"Kueue {version} offers each job to the best cluster first")


def configs(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Is each MultiKueueConfig ours, and does it have every decided cluster?"""
    ordered = _ordered(facts)
    by_name = {config.metadata.name: config for config in facts.inputs.multi_kueue_configs}
    decisions = decided(facts.inputs.snapshot.decisions)
    clusters = set(map(name_of, facts.of(FactSource.MULTIKUEUE_CLUSTERS)))
    for ordering in ordered:
        yield from _config(facts, ordering, by_name.get(ordering.order.config))
        key = ordering.placement.key
        names = decisions.get(key, ())
        unserved = sorted(set(names) - clusters)
        if unserved:
            show = facts.command("get", "multikueueclusters")
            fix = (
                f"{show}  # OCM's kueue add-on makes them; each has the name of its ManagedCluster"
            )
            if len(unserved) > 1:
                yield warning(
                    f"{names_text(unserved)} of Placement {key} have no MultiKueueCluster, so they"
                    " get no jobs",
                    fix,
                )
            else:
                yield warning(
                    f"{unserved[0]} of Placement {key} has no MultiKueueCluster, so it gets no"
                    " jobs",
                    fix,
                )
        # A cluster without a MultiKueueCluster is never listed, so it takes no place.
        served = len(set(names) & clusters)
        if served > MAX_CLUSTERS:
            yield warning(
                f"{served} clusters are decided for Placement {key}, and a MultiKueueConfig takes"
                f" {MAX_CLUSTERS}: the worst ones get no jobs",
                "choose fewer with clusterSets or clusterSelector of the ScoredPlacement",
            )
        yield from _checks(facts, ordering)
    yield from _left_over(facts, {ordering.order.config for ordering in ordered})
    if ordered:
        count = plural(len(ordered), "MultiKueueConfig")
        yield ok(f"{count} in the order of the scores")
    else:
        yield ok("no Placement orders clusters for jobs")


def _ordered(facts: DoctorFacts) -> list[_Ordered]:
    ordered: list[_Ordered] = []
    for placement in facts.inputs.placements:
        order = readable_order(placement)
        if order is not None:
            ordered.append(_Ordered(placement=placement, order=order))
    return ordered


def _gates(configuration: HubObject, deployments: tuple[HubObject, ...]) -> dict[str, bool]:
    """The feature gates of the configuration, and of the flag.

    Kueue does not start if both set some (pkg/config/validation.go). So it does not matter which
    one wins here.
    """
    gates: dict[str, bool] = {}
    in_file = configuration.get("featureGates")
    if isinstance(in_file, dict):
        gates = {str(name): bool(value) for name, value in in_file.items()}
    for deployment in deployments:
        for container in containers_of(deployment):
            for argument in container.get("args") or ():
                if not str(argument).startswith(_GATES_FLAG):
                    continue
                for pair in str(argument).removeprefix(_GATES_FLAG).split(","):
                    name, _, value = pair.partition("=")
                    gates[name.strip()] = is_true(value.strip())
    return gates


def _dispatcher(
    facts: DoctorFacts, configuration: HubObject, gates: dict[str, bool]
) -> Iterator[DoctorFinding]:
    multi_kueue: Any = configuration.get("multiKueue")
    if not isinstance(multi_kueue, dict):
        multi_kueue = {}
    edit = facts.command("-n", KUEUE_NAMESPACE, "edit", "configmap", SETTINGS)
    # Kueue uses its default where the field is absent.
    dispatcher = multi_kueue.get("dispatcherName") or _ALL_AT_ONCE
    if dispatcher == _ALL_AT_ONCE:
        yield error(
            "Kueue copies each job to all clusters at once and runs it where it is admitted first,"
            " so the order of the scores has no effect",
            f"{edit}  # multiKueue.dispatcherName: {_INCREMENTAL}, and"
            " incrementalDispatcherConfig.stepSize: 1; then restart Kueue",
        )
        return
    if dispatcher != _INCREMENTAL:
        yield warning(
            f"the dispatcher {dispatcher} decides where jobs go, and may ignore the order of the"
            " scores",
            f"{edit}  # multiKueue.dispatcherName: {_INCREMENTAL}; then restart Kueue",
        )
        return
    if gates.get(_ORDER_GATE) is False:
        yield error(
            f"the feature gate {_ORDER_GATE} of Kueue is off: jobs are offered to clusters in"
            " alphabetical order",
            f"{edit}  # remove the gate, which is on by default; then restart Kueue",
        )
    incremental = multi_kueue.get("incrementalDispatcherConfig")
    step = incremental.get("stepSize") if isinstance(incremental, dict) else None
    # Without the gate Kueue does not read stepSize.
    if gates.get(_STEP_GATE) is False or not isinstance(step, int):
        step = _DEFAULT_STEP
    if step > 1:
        yield warning(
            f"Kueue offers each job to the {step} best clusters at once, and it runs where it is"
            " admitted first; with stepSize 1 the order decides alone",
            f"{edit}  # multiKueue.incrementalDispatcherConfig.stepSize: 1; then restart Kueue",
        )


def _config(
    facts: DoctorFacts, ordering: _Ordered, config: MultiKueueConfig | None
) -> Iterator[DoctorFinding]:
    name = ordering.order.config
    if config is None:
        logs = facts.on_hub("logs", "-l", POD_LABEL)
        yield warning(
            f"there is no MultiKueueConfig {name} for Placement {ordering.placement.key}: the"
            " reconciler creates it with the first decided cluster that has a MultiKueueCluster",
            f"{logs}  # why it was not written",
        )
    # The reconciler writes no config without its label: two writers of one list fight, and each
    # change of the list can cost jobs.
    elif config.metadata.label(MANAGED_BY_LABEL) != RECONCILER:
        label = facts.command(
            "label", "multikueueconfig", name, "--overwrite", f"{MANAGED_BY_LABEL}={RECONCILER}"
        )
        yield error(
            f"the MultiKueueConfig {name} belongs to another program, so its clusters are not"
            f" ordered by Placement {ordering.placement.key}",
            f"{label}  # hands it over: first stop whoever writes it, or name another config in"
            " multiKueue",
        )


def _checks(facts: DoctorFacts, ordering: _Ordered) -> Iterator[DoctorFinding]:
    """Whether jobs come to the config, and whether OCM's add-on writes it, too."""
    name = ordering.order.config
    is_named = False
    for check in facts.of(FactSource.ADMISSION_CHECKS):
        spec = check.get("spec") or {}
        parameters = spec.get("parameters") or {}
        if parameters.get("kind") == "MultiKueueConfig" and parameters.get("name") == name:
            is_named = True
        is_of_ocm = spec.get("controllerName") == OCM_CONTROLLER
        # The add-on gives the config the name of the Placement that the check names (addon-contrib
        # f5844b9), and writes its clusters in random order at each sync.
        if is_of_ocm and parameters.get("name") == name:
            yield error(
                f"OCM's kueue add-on writes the MultiKueueConfig {name} for AdmissionCheck"
                f" {name_of(check)}, and so does the reconciler: each undoes what the other does,"
                " and running jobs are lost",
                facts.command("delete", "admissioncheck", name_of(check)),
            )
    if not is_named:
        yield warning(
            f"no AdmissionCheck names the MultiKueueConfig {name}, so no job follows its order",
            "write an AdmissionCheck with controllerName kueue.x-k8s.io/multikueue and this config"
            " as its parameters",
        )


def _left_over(facts: DoctorFacts, ordered_names: set[str]) -> Iterator[DoctorFinding]:
    """Configs of ours that no Placement orders any more. Jobs may still need them."""
    for config in facts.inputs.multi_kueue_configs:
        name = config.metadata.name
        # The reconciler deletes no config: running jobs of an AdmissionCheck that names it hang
        # then.
        if name not in ordered_names and config.metadata.label(MANAGED_BY_LABEL) == RECONCILER:
            delete = facts.command("delete", "multikueueconfig", name)
            yield warning(
                f"no Placement orders the MultiKueueConfig {name} any more: jobs go on by its last"
                " order",
                f"{delete}  # when no AdmissionCheck names it: jobs of such a check are lost",
            )
