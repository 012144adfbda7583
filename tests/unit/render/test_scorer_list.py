"""The list of scorers for the reconciler is measured in every mode."""

import pytest

from gitops_dsf.render import scorerlist
from gitops_dsf.render.limits import check_limits
from tests.support.repositories import BARE, BASE, UPSTREAM, checked_fleet, declared


@pytest.mark.parametrize("settings", [BASE["gitops-dsf.yaml"], UPSTREAM])
@pytest.mark.parametrize(("max_bytes", "refusals"), [(100, ["DSF040"]), (10_000, [])])
def test_a_list_that_is_too_large_is_refused(
    settings: str, max_bytes: int, refusals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scorerlist, "MAX_PART_BYTES", max_bytes)
    repository = {"settings": settings, "scorers": BARE}
    refused = check_limits(checked_fleet(**repository), declared(**repository))
    assert [item.code for item in refused] == refusals
