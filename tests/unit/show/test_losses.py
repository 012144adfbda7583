"""The last line of `simulate --lose`, and the first one of its page."""

import pytest

from gitops_dsf.show.losses import losses_summary
from gitops_dsf.views.preview.losses import Departure, Loss, OverloadedScore


def loss(cluster: str, *, homeless: bool = False, overloads: bool = False) -> Loss:
    departure = Departure(
        placement="argocd/shop",
        source=(cluster,),
        target=() if homeless else ("us-1",),
        stays=(),
        missing=int(homeless),
        by=None,
    )
    overload = OverloadedScore(
        cluster="us-1", resource="cpu", dimension="cpu", left=5, demand=10, placements=()
    )
    return Loss(
        clusters=(cluster,), departures=(departure,), overloads=(overload,) if overloads else ()
    )


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ((), "no application has a decision, so no loss would move anything"),
        ((loss("eu-1"), loss("eu-2")), "any one of 2 clusters can be lost"),
        (
            (loss("eu-1", homeless=True), loss("eu-2")),
            "of 2 clusters, the loss of 1 would leave an application nowhere to go",
        ),
        (
            (loss("eu-1", overloads=True), loss("eu-2", overloads=True)),
            "of 2 clusters, the loss of 2 would overload another cluster",
        ),
        (
            (loss("eu-1", homeless=True), loss("eu-2", overloads=True)),
            (
                "of 2 clusters, the loss of 1 would leave an application nowhere to go, and the"
                " loss of 1 would overload another cluster"
            ),
        ),
    ],
)
def test_losses_are_summed_up_by_what_they_do(losses: tuple[Loss, ...], text: str) -> None:
    assert losses_summary(losses) == text
