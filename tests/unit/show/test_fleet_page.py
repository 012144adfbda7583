"""By what the page of a fleet says that applications are ranked."""

import re
from typing import Any

import pytest

from gitops_dsf.show.pages.fleet import Past, ShownFleet, fleet_page
from gitops_dsf.views.status.build import build
from gitops_dsf.views.status.inputs import HubPart
from tests.support.hubobjects import (
    Object,
    application,
    application_set,
    binding,
    decision,
    global_set,
    joined,
    moves_score,
    paced,
    placement,
    score,
    scorer,
)
from tests.support.overviews import inputs_of


def built_in(name: str, weight: int) -> Object:
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name}, "weight": weight}


def page_of(item: Object, **unread: Any) -> str:
    """The page of a fleet with one application, which this Placement decides."""
    objects = [
        *joined("ber-1", "ber-2"),
        global_set(),
        binding(),
        scorer("cpu"),
        score("ber-1", "cpu", 70),
        score("ber-1", "gpu-usage", 20),
        item,
        decision("shop", "ber-1"),
        application_set("shop"),
        application("shop", "ber-1"),
        moves_score("ber-1", shop=50),
    ]
    fleet = ShownFleet(
        overview=build(inputs_of(objects, **unread)),
        findings=(),
        sources={},
        sources_note="",
        past=Past(),
    )
    return fleet_page(fleet)


def ranked_text(item: Object, **unread: Any) -> str:
    """What stands under the name of the application."""
    [text] = re.findall(r">shop<small>([^<]*)</small></th>", page_of(item, **unread))
    return text


def with_terms(*terms: Object, **policy: Any) -> Object:
    """A Placement that ranks by cpu, and by these."""
    item = placement("shop", "cpu")
    written = item["spec"]["prioritizerPolicy"]
    written["configurations"] += terms
    written |= policy
    return item


def test_a_scorer() -> None:
    assert ranked_text(placement("shop", "cpu")) == "by cpu"


def test_a_score_of_another_add_on() -> None:
    assert (
        ranked_text(placement("shop", "cpu", "gpu-usage")) == "by cpu, gpu-usage (another add-on)"
    )


def test_nobody_knows_whose_a_score_is_without_the_scorers() -> None:
    item = placement("shop", "cpu", "gpu-usage")
    assert ranked_text(item, unread=[HubPart.SCORERS]) == "by cpu, gpu-usage"


def test_what_ocm_ranks_by_itself() -> None:
    """Steady is the stickiness, and says nothing about a cluster."""
    item = with_terms(built_in("ResourceAllocatableCPU", 2), built_in("Steady", 3))
    assert ranked_text(item) == "by cpu, ResourceAllocatableCPU (OCM)"


def test_a_weight_of_0_ranks_nothing() -> None:
    assert ranked_text(with_terms(built_in("Balance", 0))) == "by cpu"


@pytest.mark.parametrize("policy", [{"mode": "Additive"}, {"mode": ""}])
def test_what_ocm_adds_is_named(policy: dict[str, str]) -> None:
    assert ranked_text(with_terms(**policy)) == "by cpu, Balance (OCM)"


def test_a_placement_without_prioritizers() -> None:
    item = placement("shop")
    del item["spec"]["prioritizerPolicy"]
    assert ranked_text(item) == "by Balance (OCM)"


def test_the_lever_of_paced_moves_ranks_nothing() -> None:
    assert ranked_text(paced(placement("shop", "cpu", "gpu-usage"))) == (
        "by cpu, gpu-usage (another add-on)"
    )


def test_a_placement_that_ocm_refuses() -> None:
    assert ranked_text(with_terms(mode="exact")) == ""
