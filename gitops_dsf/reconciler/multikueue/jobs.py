"""Jobs and the clusters that they are on, according to Kueue's Workloads.

A hub has a hundred thousand Workloads, so little is kept of each, and nothing of those that are on
no cluster.
"""

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gitops_dsf.hub.metadata import ObjectCondition, condition_of
from gitops_dsf.hub.multikueue import MULTIKUEUE_CONTROLLER
from gitops_dsf.multikueue.assumed import PlacedJob

MAX_SHARED: Final = 10_000
"""Tuples of checks that are shared. A ClusterQueue has one, so a hub has a few."""


class JobPlace(msgspec.Struct, frozen=True, gc=False):
    """The fields that are kept of a Workload.

    Without a cluster the Workload is on none, or its job has finished.
    """

    checks: tuple[str, ...] = ()
    """Names of its admission checks."""
    cluster: str = ""
    """The cluster that admitted it, or that it waits for alone; empty if there is none."""
    admitted_at: float | None = None
    """Seconds since 1970; None while it waits."""


class JobPlaces(dict[str, JobPlace]):
    """Workloads by namespace/name, without those that are on no cluster."""

    def __setitem__(self, key: str, place: JobPlace) -> None:
        if place.cluster:
            super().__setitem__(key, place)
        else:
            self.pop(key, None)


class _CheckState(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    name: str = ""
    state: str = ""
    last_transition_time: Any = None


class _WorkloadStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    conditions: tuple[ObjectCondition, ...] | None = None
    admission_checks: tuple[_CheckState, ...] | None = None
    nominated_cluster_names: tuple[str, ...] | None = None
    cluster_name: str | None = None


class _ObjectMetadata(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str = ""


class _Workload(msgspec.Struct, frozen=True, gc=False):
    metadata: _ObjectMetadata
    status: _WorkloadStatus = _WorkloadStatus()


class WorkloadReader:
    """Reads Workloads. Equal parts of what it returns are shared."""

    def __init__(self) -> None:
        self._read = msgspec.json.Decoder(_Workload).decode
        self._checks: dict[tuple[str, ...], tuple[str, ...]] = {}

    def __call__(self, raw: msgspec.Raw) -> tuple[str, JobPlace]:
        """A Workload by its namespace/name."""
        workload = self._read(raw)
        key = f"{workload.metadata.namespace}/{workload.metadata.name}"
        return key, self._place(workload.status)

    def _place(self, status: _WorkloadStatus) -> JobPlace:
        if condition_of(status.conditions, "Finished").status == "True":
            return JobPlace()
        states = status.admission_checks or ()
        names = tuple(state.name for state in states)
        if len(self._checks) >= MAX_SHARED:
            self._checks.clear()
        checks = self._checks.setdefault(names, names)
        if status.cluster_name:
            return JobPlace(checks, sys.intern(status.cluster_name), _admitted_at(states))
        # While several clusters are nominated, the first that admits the job gets it, so it counts
        # on none of them.
        nominated = status.nominated_cluster_names or ()
        if len(nominated) == 1:
            return JobPlace(checks, sys.intern(nominated[0]), None)
        return JobPlace()


def _admitted_at(states: Collection[_CheckState]) -> float:
    """The time when the last check became Ready; 0 if it is unknown.

    A Workload has no other time of this. Kueue sets the cluster together with the state of its
    check (v0.19.2, syncAdmittingRemoteState).
    """
    admitted_at = 0.0
    for state in states:
        since = ObjectCondition(last_transition_time=state.last_transition_time).since
        if state.state == "Ready" and since is not None:
            admitted_at = max(admitted_at, since)
    return admitted_at


class AdmissionCheckParameters(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(msgspec.Struct, frozen=True, rename="camel"):
    controller_name: str = ""
    parameters: AdmissionCheckParameters | None = None


class _AdmissionCheck(msgspec.Struct, frozen=True):
    metadata: _ObjectMetadata
    spec: AdmissionCheckSpec = AdmissionCheckSpec()


class CheckedConfig(msgspec.Struct, frozen=True):
    """The fields that are kept of an AdmissionCheck."""

    config: str = ""
    """The MultiKueueConfig that it names; empty if it is a check of another controller."""


def admission_check(raw: msgspec.Raw) -> tuple[str, CheckedConfig]:
    """An AdmissionCheck by its name."""
    check = msgspec.json.decode(raw, type=_AdmissionCheck)
    parameters = check.spec.parameters
    is_ours = check.spec.controller_name == MULTIKUEUE_CONTROLLER and parameters is not None
    if parameters is None or not is_ours or parameters.kind != "MultiKueueConfig":
        return check.metadata.name, CheckedConfig()
    return check.metadata.name, CheckedConfig(parameters.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigJobs:
    """The jobs of one MultiKueueConfig."""

    busy: frozenset[str]
    """Clusters on which one of them is admitted, or that one waits for alone."""
    doubtful: frozenset[str]
    """Clusters with jobs that may or may not belong to this config."""
    placed: tuple[PlacedJob, ...]
    """The jobs that may count as assumed load."""

    def holding(self, listed: Collection[str]) -> frozenset[str]:
        """The clusters that must stay in a list because of jobs.

        A doubtful job may be of another config. So it holds a cluster that is listed, and brings
        none into the list.
        """
        return self.busy | self.doubtful.intersection(listed)


def jobs_of(
    config: str,
    places: Iterable[JobPlace],
    checks: Mapping[str, CheckedConfig],
    *,
    admitted_after: float,
) -> ConfigJobs:
    """The jobs of a MultiKueueConfig.

    Jobs that were admitted at `admitted_after` or before are left out of `placed`.
    """
    relevant = _Relevance(config, checks)
    busy = set[str]()
    doubtful = set[str]()
    placed: list[PlacedJob] = []
    for place in places:
        is_relevant = relevant[place.checks]
        if is_relevant is None:
            doubtful.add(place.cluster)
        if not is_relevant:
            continue
        # A job that waits for a cluster alone goes on to wait when the cluster has left the list,
        # and its copy there takes quota (seen with v0.19.2).
        busy.add(place.cluster)
        if place.admitted_at is None or place.admitted_at > admitted_after:
            placed.append(PlacedJob(place.cluster, place.admitted_at))
    return ConfigJobs(busy=frozenset(busy), doubtful=frozenset(doubtful), placed=tuple(placed))


class _Relevance(dict[tuple[str, ...], bool | None]):
    """Whether Workloads with these checks are of a config; None if that is unknown."""

    def __init__(self, config: str, checks: Mapping[str, CheckedConfig]) -> None:
        super().__init__()
        self._config = config
        self._checks = checks

    def __missing__(self, names: tuple[str, ...]) -> bool | None:
        configs = {self._checks[name].config for name in names if name in self._checks}
        answer: bool | None
        if self._config in configs:
            answer = True
        elif any(configs):
            answer = False
        else:
            # Kueue sent it to a cluster, so one of its checks was of MultiKueue: it was deleted.
            answer = None
        self[names] = answer
        return answer
