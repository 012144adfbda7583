"""Checks maintenance: windows that open, clusters and applications that exist, and what is left to run on.
What depends on the time of day, such as a window that is past, is left to the hub.
"""

from collections.abc import Iterator
from itertools import combinations

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.maintenance import Period, clock_change, overlap
from gitops_dsf.repository.model.application import ScoredApplication
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.resolve.context import SETTINGS, Context, needs
from gitops_dsf.resolve.maintenance import clusters_of, window_of
from gitops_dsf.resolve.pace import is_paced
from gitops_dsf.resolve.rules.target_clusters import eligible
from gitops_dsf.wording import did_you_mean, names_text


def windows_open(context: Context) -> Iterator[Diagnostic]:
    """A window that ends before it begins does nothing."""
    for item in context.declared.maintenance:
        spec = item.value.spec
        if spec.schedule is not None and spec.schedule.opens == spec.schedule.closes:
            yield codes.WINDOW_NEVER_OPENS.at(
                item.at("spec", "schedule", "to"),
                f"the window opens and closes at {spec.schedule.opens}",
                "write a later time; one before `from` is on the next day",
            )
        window = window_of(spec)
        if isinstance(window, Period) and window.empty:
            yield codes.WINDOW_NEVER_OPENS.at(
                item.at("spec", "end"),
                f"the window ends before it begins, at {spec.start}",
                "write a later end",
            )


def windows_keep_their_clock(context: Context) -> Iterator[Diagnostic]:
    """When clocks change, a local time exists twice, or not at all."""
    for item in context.declared.maintenance:
        schedule = item.value.spec.schedule
        window = window_of(item.value.spec)
        if schedule is None or isinstance(window, Period) or schedule.opens == schedule.closes:
            continue
        found = clock_change(window)
        if found is None:
            continue
        field = "from" if found.clock == schedule.opens else "to"
        times = "exists twice" if found.twice else "does not exist"
        begins = "begins the first time" if field == "from" else "ends the second time"
        meaning = f"the window {begins}" if found.twice else "it counts as if clocks had not changed yet"
        yield codes.WINDOW_CLOCKS.at(
            item.at("spec", "schedule", field),
            f"{found.clock} {times} in {schedule.zone} when clocks change, such as on {found.day}: {meaning}",
            "write another time, or zone: UTC",
        )


@needs("ManagedCluster")
def windows_do_not_overlap(context: Context) -> Iterator[Diagnostic]:
    """Of two windows of one cluster, Freeze holds what Drain would move, and Drain contains Cordon."""
    items = [
        (item, window_of(item.value.spec), clusters_of(item.value.spec, context.inventory))
        for item in context.declared.maintenance
    ]
    for (first, one, some), (second, other, others) in combinations(items, 2):
        shared = some & others
        if not shared or not overlap(one, other):
            continue
        actions = {first.value.spec.action, second.value.spec.action}
        if len(actions) == 1:
            effect = f"both say {min(actions)}"
        elif "Freeze" in actions:
            effect = f"nothing leaves by {min(actions - {'Freeze'})} while Freeze is open"
            if "Cordon" in actions:
                effect = "both hold"
        else:
            effect = "Drain holds while both are open"
        yield codes.WINDOWS_OVERLAP.at(
            second.position,
            f"{names_text(sorted(shared), most=3)}: the window overlaps with that of {first.name}; {effect}",
            "remove one, or let one end before the other begins",
        )


@needs("FleetRepository", "ManagedCluster", "ManagedClusterSet", "ScoredApplication", "ScoredPlacement")
def clusters_are_left(context: Context) -> Iterator[Diagnostic]:
    """An application needs clusters while some are drained or cordoned."""
    for item in context.declared.maintenance:
        if item.value.spec.action == "Freeze":
            continue
        taken = clusters_of(item.value.spec, context.inventory)
        stranded = [
            ranking.name
            for ranking in context.declared.rankings
            if (found := eligible(context, ranking))
            and found & taken
            and len(found - taken) < min(len(found), ranking.value.spec.placement.number_of_clusters or 1)
        ]
        if stranded:
            subject = "clusters" if item.value.spec.clusters is not None else "clusterSelector"
            yield codes.MAINTENANCE_STRANDS.at(
                item.document.key_at(("spec", subject)),
                f"too few eligible clusters are left for {names_text(sorted(stranded), most=3)}",
                "drain fewer clusters at a time, or make more of them eligible",
            )


@needs(SETTINGS)
def somebody_carries_it_out(context: Context) -> Iterator[Diagnostic]:
    """The reconciler does, and moves nothing without a pace."""
    for item in context.declared.maintenance:
        action, position = item.value.spec.action, item.at("spec", "action")
        if context.is_upstream:
            message = "the reconciler carries it out, and with delivery.mode UpstreamController there is none"
            yield codes.MAINTENANCE_NEEDS.at(position, message, "write delivery.mode: ManifestWork")
        elif not context.settings.reconciler.enabled:
            message = "the reconciler carries it out, and reconciler.enabled is false"
            yield codes.MAINTENANCE_NEEDS.at(position, message, "write reconciler.enabled: true")
        elif context.settings.pace is None and action != "Cordon":
            what = "moves applications by the pace" if action == "Drain" else "holds paced moves"
            yield codes.MAINTENANCE_NEEDS.at(
                position,
                f"{action} {what}, and gitops-dsf.yaml has no spec.pace",
                "write spec.pace there" + (", or action: Cordon" if action == "Drain" else ""),
            )


@needs("ManagedCluster")
def its_clusters_exist(context: Context) -> Iterator[Diagnostic]:
    """A misspelt name, or a selector that matches nothing, has no effect."""
    for item in context.declared.maintenance if context.inventory.clusters else ():
        spec = item.value.spec
        for index, name in enumerate(spec.clusters or ()):
            if name not in context.inventory.clusters:
                yield _unknown(context, item, "clusters", index, name)
        if spec.cluster_selector is not None and not clusters_of(spec, context.inventory):
            yield codes.MATCHES_NOTHING.at(
                item.document.key_at(("spec", "clusterSelector")),
                "clusterSelector matches no cluster of the inventory",
                "correct the labels, or remove the maintenance",
            )


@needs("ScoredApplication")
def its_applications_exist(context: Context) -> Iterator[Diagnostic]:
    """An application that does not exist, or is not paced, has no moves to freeze."""
    applications = {item.name: item for item in context.declared.applications}
    for item in context.declared.maintenance:
        for index, name in enumerate(item.value.spec.applications or ()):
            found = applications.get(name)
            if found is None:
                yield _unknown(context, item, "applications", index, name)
            elif context.settings.pace is not None and not _is_paced(context, found):
                yield codes.PACE_FIELD.at(
                    item.at("spec", "applications", index),
                    f"{name} is not paced: there is nothing to freeze",
                    "remove it",
                )


def _is_paced(context: Context, item: Item[ScoredApplication]) -> bool:
    return item.value.spec.placement.ref is None and is_paced(item, context.settings)


def _unknown(context: Context, item: Item[Maintenance], field: str, index: int, name: str) -> Diagnostic:
    clusters = field == "clusters"
    kind, folder = ("ManagedCluster", "clusters") if clusters else ("ScoredApplication", "apps")
    known = context.inventory.clusters if clusters else {each.name for each in context.declared.applications}
    return codes.UNKNOWN_IN_MAINTENANCE.at(
        item.at("spec", field, index),
        f"there is no {kind} {name} in {folder}/",
        did_you_mean(name, known) or "remove it",
    )
