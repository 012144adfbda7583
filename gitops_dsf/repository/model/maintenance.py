"""Maintenance: a window in which clusters are drained or cordoned, or moves are frozen."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from gitops_dsf.hub.windows import CLOCK, Day, is_zone
from gitops_dsf.repository.model.base import (
    PRODUCT_API,
    Authored,
    DnsLabel,
    DnsName,
    LabelSelector,
    Metadata,
    Moment,
)
from gitops_dsf.repository.model.field_rules import FieldRule, Ruled, given, having
from gitops_dsf.repository.model.pods import each_once

MAX_NAMES: Final = 1000

_SUBJECTS: Final = ("clusters", "clusterSelector", "applications")


def _a_zone(name: str) -> str:
    if not is_zone(name):
        raise ValueError(f"there is no time zone {name}: write one such as Europe/Berlin or UTC")
    return name


Clock = Annotated[str, Field(pattern=CLOCK)]


class Schedule(Authored):
    """A window of every week, in local time."""

    days: Annotated[list[Day], Field(min_length=1, max_length=7), AfterValidator(each_once)]
    """Days on which it opens."""
    opens: Annotated[Clock, Field(alias="from")]
    """Local time at which it opens, such as "22:00"."""
    closes: Annotated[Clock, Field(alias="to")]
    """Local time at which it closes; on the next day, if it is before `from`."""
    zone: Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_a_zone)]
    """Time zone, such as Europe/Berlin."""


class MaintenanceSpec(Ruled):
    """What is maintained, when, and what happens meanwhile."""

    rules = (
        FieldRule(
            message="write exactly one of clusters, clusterSelector and applications",
            holds=lambda spec: (
                [spec.clusters, spec.cluster_selector, spec.applications].count(None)
                == len(_SUBJECTS) - 1
            ),
            json={"oneOf": list(map(given, _SUBJECTS))},
        ),
        FieldRule(
            message="applications can be frozen only: write action: Freeze, or name clusters",
            path=("action",),
            holds=lambda spec: spec.applications is None or spec.action == "Freeze",
            json={"anyOf": [{"not": given("applications")}, having("action", {"const": "Freeze"})]},
        ),
        FieldRule(
            message="write either start and end, or schedule",
            # Both times are there without a schedule, and neither with one.
            holds=lambda spec: (
                {spec.start is None, spec.end is None} == {spec.schedule is not None}
            ),
            json={
                "oneOf": [
                    {"allOf": [given("start"), given("end"), {"not": given("schedule")}]},
                    {"allOf": [given("schedule"), {"not": given("start")}, {"not": given("end")}]},
                ]
            },
        ),
    )

    action: Literal["Drain", "Cordon", "Freeze"]
    """Drain: paced applications leave the clusters one after the other, and none arrives. Cordon:
    none arrives. Freeze: no paced move of the clusters or applications begins.
    """
    clusters: Annotated[list[DnsLabel], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Names of clusters."""
    cluster_selector: LabelSelector | None = None
    """Clusters by their labels on the hub, instead of clusters; an empty selector means all."""
    applications: Annotated[list[DnsName], Field(min_length=1, max_length=MAX_NAMES)] | None = None
    """Names of ScoredApplications, instead of clusters, for Freeze."""
    start: Moment | None = None
    """When the window opens, such as "2026-11-24T20:00:00+01:00"."""
    end: Moment | None = None
    """When the window closes."""
    schedule: Schedule | None = None
    """A window of every week, instead of start and end."""


class Maintenance(Authored):
    """A window in which clusters are drained or cordoned, or moves are frozen.

    The reconciler carries it out.
    """

    api_version: Literal["gitops-dsf.io/v1alpha1"] = PRODUCT_API
    kind: Literal["Maintenance"] = "Maintenance"
    metadata: Metadata
    spec: MaintenanceSpec
