"""The limit on deletions: 10 % of a scorer's clusters per TTL, at least one, whatever the order and however
often it restarts.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.reconciler.scoregc.limit import DeletionLimit, most

TTL = 900.0


@pytest.mark.parametrize(("clusters", "limit"), [(0, 1), (1, 1), (10, 1), (19, 1), (20, 2), (2_000, 200)])
def test_a_tenth_and_at_least_one(clusters: int, limit: int) -> None:
    assert most(clusters) == limit


def names(number: int) -> list[str]:
    return [f"c{index:03}" for index in range(number)]


def test_nothing_before_a_ttl_has_passed_then_the_limit_then_as_time_goes() -> None:
    it = DeletionLimit(started=5_000.0)

    def left(at: float, clusters: int = 20) -> int:
        return it.left("cpu", clusters=names(clusters), ttl=TTL, now=at)

    first = 5_000.0 + TTL
    assert (left(5_000.0), left(first - 0.1), left(first)) == (0, 0, 2)
    it.take("cpu", "c019", ttl=TTL, now=first)
    assert left(first, clusters=19) == 1, "a tenth of the twenty that there were"
    it.take("cpu", "c018", ttl=TTL, now=first + 100)
    assert left(first + 100, clusters=18) == 0
    assert left(first + 100, clusters=20) == 0, "two came back"
    assert it.left("mem", clusters=names(20), ttl=TTL, now=first + 100) == 2, "each resource for itself"
    assert (left(first + TTL - 1), left(first + TTL), left(first + TTL + 100)) == (0, 1, 2)
    assert left(first + 200, clusters=30) == 1
    assert left(first + 200, clusters=5) == 0, "fewer clusters than before owe nothing"


def test_what_the_hub_refused_does_not_count() -> None:
    it = DeletionLimit(started=0.0)
    it.take("cpu", "c000", ttl=TTL, now=TTL)
    assert it.left("cpu", clusters=names(1), ttl=TTL, now=TTL) == 0
    it.give_back("cpu")
    assert it.left("cpu", clusters=names(1), ttl=TTL, now=TTL) == 1


def test_a_ttl_that_grows_remembers_what_was_removed_before() -> None:
    it = DeletionLimit(started=0.0)
    it.take("cpu", "c010", ttl=60.0, now=10_000.0)
    it.take("cpu", "c011", ttl=60.0, now=10_100.0)
    assert it.left("cpu", clusters=names(30), ttl=3_600.0, now=10_200.0) == 1


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("remove", "remove", "remove", "refused", "restart")),
        st.floats(0, 700, allow_nan=False).map(lambda value: round(value, 3)),
        st.sampled_from(("cpu", "mem")),
    ),
    max_size=80,
)


@given(
    steps=STEPS,
    sizes=st.fixed_dictionaries({"cpu": st.integers(1, 60), "mem": st.integers(1, 60)}),
    republished=st.booleans(),
)
def test_no_span_of_a_ttl_sees_more_than_the_limit(
    steps: list[tuple[str, float, str]], sizes: dict[str, int], republished: bool
) -> None:
    now = 0.0
    it = DeletionLimit(started=now)
    present = {resource: names(size) for resource, size in sizes.items()}
    removed: dict[str, list[float]] = {"cpu": [], "mem": []}
    for what, seconds, resource in steps:
        now += seconds
        if what == "restart":
            it = DeletionLimit(started=now)
            continue
        # As fast as it can: all that is left is taken at once.
        while present[resource] and it.left(resource, clusters=present[resource], ttl=TTL, now=now):
            it.take(resource, present[resource][0], ttl=TTL, now=now)
            if what == "refused":
                it.give_back(resource)
                break
            removed[resource].append(now)
            gone = present[resource].pop(0)
            if republished:
                present[resource].append(gone)
    for resource, times in removed.items():
        for start in times:
            assert sum(start <= at < start + TTL for at in times) <= most(sizes[resource])
