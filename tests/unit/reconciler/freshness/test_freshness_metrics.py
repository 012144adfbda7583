"""Series are the whole truth of the moment, and not too many."""

from prometheus_client import CollectorRegistry

from gitops_dsf.reconciler.freshness.report import MAX_SERIES, FreshnessMetrics

PREFIX = "gitops_dsf_reconciler"


def series(registry: CollectorRegistry, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for family in registry.collect()
        if family.name == f"{PREFIX}_{name}"
        for sample in family.samples
    }


def test_what_is_not_named_any_more_goes() -> None:
    registry = CollectorRegistry()
    metrics = FreshnessMetrics(registry)
    metrics.set_not_fresh(
        {"cpu": {"expired": frozenset("ab"), "missing": frozenset("c"), "expiring": frozenset()}}
    )
    assert series(registry, "score_not_fresh").keys() == {
        ("cpu", "a", "expired"),
        ("cpu", "b", "expired"),
        ("cpu", "c", "missing"),
    }
    metrics.set_not_fresh(
        {"cpu": {"expired": frozenset("a"), "missing": frozenset(), "expiring": frozenset()}}
    )
    assert series(registry, "score_not_fresh") == {("cpu", "a", "expired"): 1}


def test_each_scorer_has_its_share_when_they_are_too_many() -> None:
    registry = CollectorRegistry()
    metrics = FreshnessMetrics(registry)
    many = frozenset(f"c{number}" for number in range(MAX_SERIES))
    metrics.set_not_fresh(
        {
            "cpu": {"expired": frozenset(), "missing": many},
            "mem": {"expired": frozenset({"c7"}), "missing": many},
        }
    )
    found = series(registry, "score_not_fresh")
    assert len(found) == MAX_SERIES
    assert sum(scorer == "cpu" for scorer, _, _ in found) == MAX_SERIES // 2
    assert ("mem", "c7", "expired") in found
    assert series(registry, "score_not_fresh_omitted") == {(): MAX_SERIES + 1}
    metrics.set_not_fresh({})
    assert series(registry, "score_not_fresh_omitted") == {(): 0}
