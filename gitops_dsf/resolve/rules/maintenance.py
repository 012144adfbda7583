"""Checks maintenance: windows, clusters, and the clusters that are left meanwhile.

Facts that depend on the time of day, such as a past window, are left to the hub.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.maintenance import MAX_WINDOWS
from gitops_dsf.hub.windows import Period, Window, clock_change, together
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.maintenance_capacity import needs_of, stranding, union
from gitops_dsf.resolve.maintenance_windows import clusters_of, window_of
from gitops_dsf.resolve.paced_rankings import is_paced
from gitops_dsf.resolve.rules.registry import CLUSTERS, SETTINGS, rule
from gitops_dsf.wording import did_you_mean, names_text

MAX_HINTS: Final = 20
"""Names that are compared with those of a whole fleet, to say which one was meant."""


@rule()
def windows_open(context: Context) -> Iterator[Diagnostic]:
    """A window that ends before it begins does nothing."""
    for maintenance in context.declared.maintenance:
        spec = maintenance.value.spec
        if spec.schedule is not None and spec.schedule.opens == spec.schedule.closes:
            yield codes.WINDOW_NEVER_OPENS.at(
                maintenance.at("spec", "schedule", "to"),
                f"the window opens and closes at {spec.schedule.opens}",
                "write a later time; one before `from` is on the next day",
            )
        window = window_of(spec)
        if isinstance(window, Period) and window.empty:
            yield codes.WINDOW_NEVER_OPENS.at(
                maintenance.at("spec", "end"),
                f"the window ends before it begins, at {spec.start}",
                "write a later end",
            )


@rule()
def windows_keep_their_clock(context: Context) -> Iterator[Diagnostic]:
    """When clocks change, a local time exists twice, or not at all."""
    for maintenance in context.declared.maintenance[:MAX_WINDOWS]:
        schedule = maintenance.value.spec.schedule
        window = window_of(maintenance.value.spec)
        # A single period has its offset from UTC, so no change of clocks moves it.
        if schedule is None or isinstance(window, Period) or schedule.opens == schedule.closes:
            continue
        change = clock_change(window)
        # Twice a year, and on no day in zones without daylight saving time.
        if change is None:
            continue
        is_start = change.clock == schedule.opens
        position = maintenance.at("spec", "schedule", "from" if is_start else "to")
        if change.twice:
            effect = "begins the first time" if is_start else "ends the second time"
            yield codes.WINDOW_CLOCKS.at(
                position,
                f"{change.clock} exists twice in {schedule.zone} when clocks change, such as on"
                f" {change.day}: the window {effect}",
                "write another time, or zone: UTC",
            )
        else:
            yield codes.WINDOW_CLOCKS.at(
                position,
                f"{change.clock} does not exist in {schedule.zone} when clocks change, such as on"
                f" {change.day}: it counts as if clocks had not changed yet",
                "write another time, or zone: UTC",
            )


@rule()
def windows_are_bounded(context: Context) -> Iterator[Diagnostic]:
    """All are compared with one another, and the reconciler asks each of them every time."""
    count = len(context.declared.maintenance)
    if count > MAX_WINDOWS:
        yield codes.MANY_WINDOWS.at(
            context.declared.maintenance[MAX_WINDOWS].position,
            f"this repository has {count} Maintenance documents; at most {MAX_WINDOWS} are allowed",
            "remove those that are past, or let one document name several clusters",
        )


@rule(needs=("ManagedCluster",))
def windows_do_not_overlap(context: Context) -> Iterator[Diagnostic]:
    """Windows of one cluster should not be open together: Freeze holds what Drain would move."""
    # Each window is compared with every other one. Those beyond the bound have their own finding.
    windows = context.declared.maintenance[:MAX_WINDOWS]
    clusters: list[frozenset[str]] = []
    open_together: list[set[int]] = []
    times: list[Window] = []
    for window in windows:
        clusters.append(clusters_of(window.value.spec, context.inventory))
        open_together.append(set())
        times.append(window_of(window.value.spec))
    for opening, group in together(times):
        open_together[opening] |= group
    for second, window in enumerate(windows):
        by_effect: dict[str, list[int]] = {}
        for first in range(second):
            overlaps = first in open_together[second] or second in open_together[first]
            if overlaps and not clusters[first].isdisjoint(clusters[second]):
                effect = _effect_of_both(windows[first].value.spec.action, window.value.spec.action)
                by_effect.setdefault(effect, []).append(first)
        # One finding for each effect: a window of every week can overlap with dozens.
        for effect, others in by_effect.items():
            of_others = frozenset[str]().union(*(clusters[other] for other in others))
            shared = names_text(sorted(clusters[second] & of_others), max_names=3)
            names = names_text([windows[other].name for other in others], max_names=3)
            yield codes.WINDOWS_OVERLAP.at(
                window.position,
                f"{shared}: the window overlaps with that of {names}; {effect}",
                "remove one, or let one end before the other begins",
            )


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
    """An application needs clusters while windows, also several at once, drain or cordon some."""
    windows: list[Item[Maintenance]] = []
    for window in context.declared.maintenance[:MAX_WINDOWS]:
        # A freeze holds moves, and takes no cluster away.
        if window.value.spec.action != "Freeze":
            windows.append(window)
    bits = _bits(context.inventory.all_clusters)
    clusters_of_window: list[int] = []
    for window in windows:
        clusters = clusters_of(window.value.spec, context.inventory)
        clusters_of_window.append(sum(bits[cluster] for cluster in clusters))
    groups = _groups_open_together(windows)
    # Only the smallest groups that leave too few are named, so these come first.
    smallest_first = sorted(groups, key=lambda group: (len(group), sorted(group)))
    with_clusters = [(group, union(group, clusters_of_window)) for group in smallest_first]
    stranded: dict[frozenset[int], list[str]] = {}
    for need, names in needs_of(context, bits).items():
        for group in stranding(need, clusters_of_window, with_clusters):
            stranded.setdefault(group, []).extend(names)
    for group, names in sorted(stranded.items(), key=lambda entry: sorted(entry[0])):
        yield _strands([windows[index] for index in sorted(group)], names)


def _bits(clusters: Iterable[str]) -> dict[str, int]:
    """A bit for each cluster, so that a set of clusters is a number.

    Several windows can be open at once in many groups, and each group is a union.
    """
    bits: dict[str, int] = {}
    for position, name in enumerate(sorted(clusters)):
        bits[name] = 1 << position
    return bits


def _groups_open_together(windows: Sequence[Item[Maintenance]]) -> set[frozenset[int]]:
    """The indexes of windows that are open at the same time, and those of each window alone."""
    times = [window_of(window.value.spec) for window in windows]
    groups: set[frozenset[int]] = set()
    for index in range(len(windows)):
        groups.add(frozenset({index}))
    for _, group in together(times):
        groups.add(group)
    return groups


@rule(needs=(SETTINGS,))
def somebody_carries_it_out(context: Context) -> Iterator[Diagnostic]:
    """The reconciler does, and moves nothing without a pace."""
    for maintenance in context.declared.maintenance:
        action = maintenance.value.spec.action
        if not context.settings.reconciler.enabled:
            yield codes.MAINTENANCE_NEEDS.at(
                maintenance.at("spec", "action"),
                "the reconciler carries it out, and reconciler.enabled is false",
                "write reconciler.enabled: true",
            )
        elif context.settings.pace is None and action == "Drain":
            yield codes.MAINTENANCE_NEEDS.at(
                maintenance.at("spec", "action"),
                "Drain moves applications by the pace, and gitops-dsf.yaml has no spec.pace",
                "write spec.pace there, or action: Cordon",
            )
        elif context.settings.pace is None and action == "Freeze":
            yield codes.MAINTENANCE_NEEDS.at(
                maintenance.at("spec", "action"),
                "Freeze holds paced moves, and gitops-dsf.yaml has no spec.pace",
                "write spec.pace there",
            )


@rule(needs=(CLUSTERS, "ManagedCluster"))
def its_clusters_exist(context: Context) -> Iterator[Diagnostic]:
    """A misspelt name, or a selector that matches nothing, has no effect."""
    in_inventory = context.inventory.clusters
    for number, (maintenance, index, name) in enumerate(
        _unknown(context, "clusters", in_inventory), 1
    ):
        yield codes.UNKNOWN_IN_MAINTENANCE.at(
            maintenance.at("spec", "clusters", index),
            f"there is no ManagedCluster {name} in clusters/",
            _hint(name, in_inventory, number),
        )
    for maintenance in context.declared.maintenance:
        spec = maintenance.value.spec
        if spec.cluster_selector is not None and not clusters_of(spec, context.inventory):
            yield codes.MATCHES_NOTHING.at(
                maintenance.document.key_at(("spec", "clusterSelector")),
                "clusterSelector matches no cluster of the inventory",
                "correct the labels, or remove the maintenance",
            )


@rule(needs=("ScoredApplication",))
def its_applications_exist(context: Context) -> Iterator[Diagnostic]:
    """An application that does not exist, or is not paced, has no moves to freeze."""
    applications_by_name = {
        application.name: application for application in context.declared.applications
    }
    for number, (maintenance, index, name) in enumerate(
        _unknown(context, "applications", applications_by_name), 1
    ):
        yield codes.UNKNOWN_IN_MAINTENANCE.at(
            maintenance.at("spec", "applications", index),
            f"there is no ScoredApplication {name} in apps/",
            _hint(name, applications_by_name, number),
        )
    if context.settings.pace is None:
        return
    for maintenance in context.declared.maintenance:
        for index, name in enumerate(maintenance.value.spec.applications or ()):
            application = applications_by_name.get(name)
            if application is None:
                continue
            follows_another = application.value.spec.placement.ref is not None
            if follows_another or not is_paced(application, context.settings):
                yield codes.PACE_FIELD.at(
                    maintenance.at("spec", "applications", index),
                    f"{name} is not paced: there is nothing to freeze",
                    "remove it",
                )


def _effect_of_both(first: str, second: str) -> str:
    """The effect of two actions on one cluster."""
    actions = {first, second}
    if first == second:
        return f"both say {first}"
    if actions == {"Freeze", "Cordon"}:
        return "both hold"
    if "Freeze" in actions:
        return "nothing leaves by Drain while Freeze is open"
    return "Drain holds while both are open"


def _strands(items: list[Item[Maintenance]], applications: list[str]) -> Diagnostic:
    """The finding about windows that together leave applications too few clusters."""
    *others, last = items
    names = names_text(sorted(applications), max_names=3)
    field = "clusters" if last.value.spec.clusters else "clusterSelector"
    message = f"too few eligible clusters are left for {names}"
    if others:
        open_windows = names_text([other.name for other in others], max_names=3)
        message = f"while {open_windows} is open, too few eligible clusters are left for {names}"
    return codes.MAINTENANCE_STRANDS.at(
        last.document.key_at(("spec", field)),
        message,
        "drain fewer clusters at a time, or make more of them eligible",
    )


def _unknown(
    context: Context, field: str, known: Mapping[str, object]
) -> Iterator[tuple[Item[Maintenance], int, str]]:
    """The names in a field of all documents that do not exist, each with its index."""
    for maintenance in context.declared.maintenance:
        for index, name in enumerate(getattr(maintenance.value.spec, field) or ()):
            if name not in known:
                yield maintenance, index, name


def _hint(name: str, known: Iterable[str], number: int) -> str:
    """The name that was meant, for the first unknown names: to compare many takes long."""
    similar = did_you_mean(name, known) if number <= MAX_HINTS else ""
    return similar or "remove it"
