"""The order of clusters for Kueue's jobs by the scores alone. Pure.

It is for views of a hub without its MultiKueueConfigs. Not guaranteed: that the list on the hub is
this one. Running jobs hold a cluster there, and its order may be older than the scores.
"""

from collections.abc import Iterable

from msgspec import Struct

from gitops_dsf.hub.multikueue import readable_order
from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.scores import Scores
from gitops_dsf.multikueue.order import OrderInputs, next_order
from gitops_dsf.multikueue.points import cluster_points


class OrderedCluster(Struct, frozen=True):
    """A cluster of the list. Kueue offers jobs to the first one first."""

    cluster: str
    points: float | None
    """The points of a cluster.

    For a list on the hub they are those when it was written, with the load of jobs not measured
    yet. None if a score had expired, or if only running jobs keep the cluster in the list.
    """


class JobsByScores(Struct, frozen=True, kw_only=True):
    """The order in which jobs would be offered to clusters by the scores alone."""

    config: str
    clusters: tuple[OrderedCluster, ...]


def jobs_by_scores(
    placement: Placement,
    clusters: Iterable[str],
    scores: Scores,
    *,
    now: float,
    listed: tuple[str, ...] = (),
) -> JobsByScores | None:
    """The order that these clusters have by their scores, where `listed` was the order so far.

    A cluster overtakes a listed one only by the stickiness. Nobody has a place in a new list. None
    if the Placement orders no jobs. `now` is the hub's time, in seconds since 1970.
    """
    order = readable_order(placement)
    if order is None:
        return None
    names = frozenset(clusters)
    points = cluster_points(order.terms, names, scores, now=now)
    inputs = OrderInputs(
        shown=listed,
        last_written=listed,
        decided=names,
        served=names,
        gone=frozenset(),
        busy=frozenset(),
        points=points,
        stickiness=order.stickiness,
        now=now,
        reorder_seconds=order.reorder_seconds,
    )
    ordered: list[OrderedCluster] = []
    for name in next_order(inputs).names:
        ordered.append(OrderedCluster(name, points.get(name)))
    return JobsByScores(config=order.config, clusters=tuple(ordered))
