"""Checks the scores of other add-ons by which Placements rank."""

from collections.abc import Iterator
from datetime import datetime

from dsf_wire.ownership import STATUS
from gitops_dsf.hub.times import age_text
from gitops_dsf.views.doctor.facts import DoctorFacts, FactSource
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, warning
from gitops_dsf.views.status.external_scores import Presence, presence_of
from gitops_dsf.wording import names_text, plural, prioritizer_text


def scores(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Do other add-ons publish the scores by which Placements rank?"""
    external = facts.overview.external_scores
    snapshot = facts.inputs.snapshot
    for (resource, dimension), ranked in external.items():
        name = prioritizer_text(f"AddOn/{resource}/{dimension}")
        column = snapshot.scores.get(resource, {})
        everywhere = presence_of(dimension, column, snapshot.clusters, now=facts.inputs.now)
        listed = facts.command("get", "addonplacementscores", "-A")
        show = f"{listed}  # is the add-on that publishes {resource} installed?"
        # Nowhere at all is mostly a misspelt name, which no condition of OCM 1.2.1 reports.
        if not everywhere.published and not everywhere.expired:
            yield error(
                f"no cluster has {name}, by which {names_text(ranked)} ranks: each counts as 0",
                show,
            )
            continue
        eligible = set[str]()
        for placement in ranked:
            eligible.update(facts.overview.eligible.get(placement, ()))
        presence = presence_of(dimension, column, eligible, now=facts.inputs.now)
        if presence.missing:
            yield warning(
                f"{name} is missing on {names_text(presence.missing)}: it counts as 0 there", show
            )
        if presence.expired:
            yield warning(
                f"{name} has expired on {names_text(presence.expired)}: it counts as 0 there", show
            )
        yield ok(_well(facts, name, resource, everywhere))
    if not external:
        yield ok("no Placement ranks by scores of other add-ons")


def _well(facts: DoctorFacts, name: str, resource: str, presence: Presence) -> str:
    clusters = plural(len(presence.published), "cluster")
    if not presence.endless:
        return f"{name} is on {clusters}"
    # Without an end, a dead publisher cannot be distinguished from one whose value stays the same.
    oldest: dict[str, float] = {}
    for score_object in facts.of(FactSource.EXTERNAL_SCORES):
        metadata = score_object["metadata"]
        if metadata.get("name") == resource and metadata.get("namespace") in presence.endless:
            changed = _changed(metadata)
            if changed is not None:
                oldest[metadata["namespace"]] = changed
    if not oldest:
        return f"{name} is on {clusters} and never expires"
    cluster = min(oldest, key=lambda name: (oldest[name], name))
    age = age_text(facts.inputs.now.timestamp() - oldest[cluster])
    return (
        f"{name} is on {clusters} and never expires; the oldest, on {cluster}, has not changed for"
        f" {age}"
    )


def _changed(metadata: dict[str, object]) -> float | None:
    """The time of the last change of the status, in seconds since 1970; None if it is unknown.

    Kubernetes 1.37 sets the time of an entry only when a write changes the object.
    """
    times: list[float] = []
    entries = metadata.get("managedFields")
    for entry in entries if isinstance(entries, list) else ():
        if entry.get("subresource") == STATUS and isinstance(entry.get("time"), str):
            times.append(datetime.fromisoformat(entry["time"]).timestamp())
    return max(times, default=None)
