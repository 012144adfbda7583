"""Numbers that spread the work of a fleet."""

from dsf_wire.spread import stable_fraction


def test_fractions_differ_between_clusters_and_not_between_starts() -> None:
    """A thousand clusters are spread evenly."""
    assert stable_fraction("c1", "cpu") == stable_fraction("c1", "cpu")
    buckets = [0] * 10
    for number in range(1000):
        buckets[int(stable_fraction(f"cluster{number}", "cpu") * 10)] += 1
    assert min(buckets) > 60
    assert stable_fraction("ab", "c") != stable_fraction("a", "bc")
