"""Labels and annotations by which Argo CD changes what it does with an object."""

import pytest

from gitops_dsf.argocd import api
from gitops_dsf.argocd.steering import steers
from tests.support.steeringkeys import HARMLESS, NOTHING_HERE, STEERING


def test_every_key_that_argocd_knows_was_looked_at() -> None:
    """After a new version: find out in its sources what a new key does, and add it to one of the
    lists.
    """
    assert set(api()["keys"]) == {*STEERING, *NOTHING_HERE, *HARMLESS}


@pytest.mark.parametrize("key", [*STEERING, *NOTHING_HERE])
def test_what_argocd_obeys_steers(key: str) -> None:
    assert steers(key)


@pytest.mark.parametrize("key", sorted(HARMLESS))
def test_what_it_only_shows_or_writes_itself_does_not(key: str) -> None:
    assert not steers(key)


@pytest.mark.parametrize(
    "key", ["helm.sh/chart", "meta.helm.sh/release-name", "example.com/hook", "argocd"]
)
def test_common_metadata_of_charts_does_not(key: str) -> None:
    """Who renders ApplicationSets with Helm has these on every object."""
    assert not steers(key)
