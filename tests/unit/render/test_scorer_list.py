"""The list of scorers for the reconciler: when it is rendered, and measured."""

import pytest

from gitops_dsf.render import scorerlist
from gitops_dsf.render.limits import check_limits
from tests.support.repositories import BARE, BASE, UPSTREAM, checked_fleet, declared


@pytest.mark.parametrize(
    ("settings", "refusals"), [(BASE["gitops-dsf.yaml"], ["DSF040"]), (UPSTREAM, [])]
)
def test_only_a_list_that_is_rendered_can_be_too_large(
    settings: str, refusals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With delivery.mode UpstreamController there is no reconciler, and no list for it."""
    monkeypatch.setattr(scorerlist, "MAX_PART_BYTES", 100)
    repository = {"settings": settings, "scorers": BARE}
    refused = check_limits(checked_fleet(**repository), declared(**repository))
    assert [item.code for item in refused] == refusals
