"""Checks maintenance; what depends on the time of day, such as a past window, is left to the hub."""

from collections.abc import Iterator, Mapping
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.maintenance import MAX_WINDOWS, Period, clock_change, together
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.maintenance_capacity import needs_of, stranding, union
from gitops_dsf.resolve.maintenance_windows import clusters_of, window_of
from gitops_dsf.resolve.paced_rankings import is_paced
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule
from gitops_dsf.wording import did_you_mean, names_text

MOST_HINTS: Final = 20
"""Names that are compared with those of a whole fleet, to say which one was meant."""


@rule()
def windows_open(context: Context) -> Iterator[Diagnostic]:
    """A window that ends before it begins does nothing."""
    for item in context.declared.maintenance:
        spec = item.value.spec
        if spec.schedule is not None and spec.schedule.opens == spec.schedule.closes:
            message = f"the window opens and closes at {spec.schedule.opens}"
            hint = "write a later time; one before `from` is on the next day"
            yield codes.WINDOW_NEVER_OPENS.at(item.at("spec", "schedule", "to"), message, hint)
        window = window_of(spec)
        if isinstance(window, Period) and window.empty:
            message = f"the window ends before it begins, at {spec.start}"
            yield codes.WINDOW_NEVER_OPENS.at(item.at("spec", "end"), message, "write a later end")


@rule()
def windows_keep_their_clock(context: Context) -> Iterator[Diagnostic]:
    """When clocks change, a local time exists twice, or not at all."""
    for item in context.declared.maintenance[:MAX_WINDOWS]:
        schedule = item.value.spec.schedule
        window = window_of(item.value.spec)
        if schedule is None or isinstance(window, Period) or schedule.opens == schedule.closes:
            continue
        if (found := clock_change(window)) is None:
            continue
        field = "from" if found.clock == schedule.opens else "to"
        times = "exists twice" if found.twice else "does not exist"
        begins = "begins the first time" if field == "from" else "ends the second time"
        meaning = (
            f"the window {begins}" if found.twice else "it counts as if clocks had not changed yet"
        )
        yield codes.WINDOW_CLOCKS.at(
            item.at("spec", "schedule", field),
            f"{found.clock} {times} in {schedule.zone} when clocks change, such as on {found.day}: {meaning}",
            "write another time, or zone: UTC",
        )


@rule()
def windows_are_bounded(context: Context) -> Iterator[Diagnostic]:
    """All are compared with one another, and asked at each look of the reconciler."""
    for item in context.declared.maintenance[MAX_WINDOWS:][:1]:
        yield codes.MANY_WINDOWS.at(
            item.position,
            f"this repository has {len(context.declared.maintenance)} Maintenance documents; the most is"
            f" {MAX_WINDOWS}",
            "remove those that are past, or let one document name several clusters",
        )


@rule(needs=("ManagedCluster",))
def windows_do_not_overlap(context: Context) -> Iterator[Diagnostic]:
    """Of two windows of one cluster, Freeze holds what Drain would move, and Drain contains Cordon."""
    items = context.declared.maintenance[:MAX_WINDOWS]
    clusters = [clusters_of(item.value.spec, context.inventory) for item in items]
    beside: list[set[int]] = [set() for _ in items]
    for opening, group in together([window_of(item.value.spec) for item in items]):
        beside[opening] |= group
    for second, item in enumerate(items):
        overlapping: dict[str, list[int]] = {}
        for first in range(second):
            both = first in beside[second] or second in beside[first]
            if both and not clusters[first].isdisjoint(clusters[second]):
                effect = _effect_of_both(items[first].value.spec.action, item.value.spec.action)
                overlapping.setdefault(effect, []).append(first)
        for effect, others in overlapping.items():
            shared = clusters[second] & frozenset().union(*(clusters[each] for each in others))
            names = names_text([items[each].name for each in others], most=3)
            yield codes.WINDOWS_OVERLAP.at(
                item.position,
                f"{names_text(sorted(shared), most=3)}: the window overlaps with that of {names}; {effect}",
                "remove one, or let one end before the other begins",
            )


def _effect_of_both(*actions: str) -> str:
    if len({*actions}) == 1:
        return f"both say {actions[0]}"
    if {*actions} == {"Freeze", "Cordon"}:
        return "both hold"
    if "Freeze" in actions:
        return "nothing leaves by Drain while Freeze is open"
    return "Drain holds while both are open"


@rule(
    needs=(
        "FleetRepository",
        "ManagedCluster",
        "ManagedClusterSet",
        "ScoredApplication",
        "ScoredPlacement",
    )
)
def clusters_are_left(context: Context) -> Iterator[Diagnostic]:
    """An application needs clusters while some are drained or cordoned, also by several windows at once."""
    every = context.declared.maintenance[:MAX_WINDOWS]
    items = [item for item in every if item.value.spec.action != "Freeze"]
    bits = {name: 1 << place for place, name in enumerate(sorted(context.inventory.all_clusters))}
    taken = [
        sum(bits[each] for each in clusters_of(item.value.spec, context.inventory))
        for item in items
    ]
    groups = {group for _, group in together([window_of(item.value.spec) for item in items])}
    groups |= {frozenset({place}) for place in range(len(items))}
    ordered = [
        (each, union(each, taken)) for each in sorted(groups, key=lambda it: (len(it), sorted(it)))
    ]
    stranded: dict[frozenset[int], list[str]] = {}
    for need, names in needs_of(context, bits).items():
        for found in stranding(need, taken, ordered):
            stranded.setdefault(found, []).extend(names)
    for group, names in sorted(stranded.items(), key=lambda each: sorted(each[0])):
        *others, last = sorted(group)
        item, open_ = items[last], names_text([items[each].name for each in others], most=3)
        also = f"while {open_} is open, " if others else ""
        yield codes.MAINTENANCE_STRANDS.at(
            item.document.key_at(
                ("spec", "clusters" if item.value.spec.clusters else "clusterSelector")
            ),
            f"{also}too few eligible clusters are left for {names_text(sorted(names), most=3)}",
            "drain fewer clusters at a time, or make more of them eligible",
        )


@rule(needs=(SETTINGS,))
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
            message = f"{action} {what}, and gitops-dsf.yaml has no spec.pace"
            hint = "write spec.pace there" + (", or action: Cordon" if action == "Drain" else "")
            yield codes.MAINTENANCE_NEEDS.at(position, message, hint)


@rule(needs=(CLUSTERS, "ManagedCluster"))
def its_clusters_exist(context: Context) -> Iterator[Diagnostic]:
    """A misspelt name, or a selector that matches nothing, has no effect."""
    known = context.inventory.clusters
    yield from _unknown(context, "clusters", known, "there is no ManagedCluster {} in clusters/")
    for item in context.declared.maintenance:
        spec = item.value.spec
        if spec.cluster_selector is not None and not clusters_of(spec, context.inventory):
            position = item.document.key_at(("spec", "clusterSelector"))
            message = "clusterSelector matches no cluster of the inventory"
            yield codes.MATCHES_NOTHING.at(
                position, message, "correct the labels, or remove the maintenance"
            )


@rule(needs=("ScoredApplication",))
def its_applications_exist(context: Context) -> Iterator[Diagnostic]:
    """An application that does not exist, or is not paced, has no moves to freeze."""
    known = {item.name: item for item in context.declared.applications}
    yield from _unknown(context, "applications", known, "there is no ScoredApplication {} in apps/")
    for item in context.declared.maintenance if context.settings.pace is not None else ():
        for index, name in enumerate(item.value.spec.applications or ()):
            found = known.get(name)
            if found is not None and (
                found.value.spec.placement.ref is not None or not is_paced(found, context.settings)
            ):
                message = f"{name} is not paced: there is nothing to freeze"
                yield codes.PACE_FIELD.at(
                    item.at("spec", "applications", index), message, "remove it"
                )


def _unknown(
    context: Context, field: str, known: Mapping[str, object], message: str
) -> Iterator[Diagnostic]:
    unknown = 0
    for item in context.declared.maintenance:
        for index, name in enumerate(getattr(item.value.spec, field) or ()):
            if name not in known:
                unknown += 1
                hint = did_you_mean(name, known if unknown <= MOST_HINTS else ()) or "remove it"
                position = item.at("spec", field, index)
                yield codes.UNKNOWN_IN_MAINTENANCE.at(position, message.format(name), hint)
