"""The demo's stand-ins, each over real HTTP or real files."""

import pytest

from demo.history import History, Observation
from demo.load import ClusterLoad


@pytest.fixture
def load() -> ClusterLoad:
    return ClusterLoad(cluster="eu", percent=40.0, instance_type="m7i.large", cores=48)


def look(at: float, *, chosen: str, **points: float) -> Observation:
    scores = {"cpu": {name: round(value) for name, value in points.items()}}
    return Observation(
        time=at,
        scores=scores,
        points=points,
        stickiness=10.0,
        chosen=(chosen,),
        load=dict.fromkeys(points, 50.0),
    )


@pytest.mark.parametrize(
    ("behind", "words"),
    [
        (49.9, "a lead of 10.1, more than the stickiness of 10"),
        (50.0, "a lead of 10.0, exactly the stickiness of 10: a tie, which OCM decides by name"),
        (52.0, "a lead of 8.0, less than the stickiness of 10 by now: the scores changed after the decision"),
    ],
)
def test_a_lead_is_compared_with_the_stickiness(behind: float, words: str) -> None:
    history = History()
    history.add(look(100, chosen="b", a=60.0, b=60.0))
    move = history.add(look(101, chosen="a", a=60.0, b=behind))
    assert move is not None
    assert move.reason == f"a has 60.0 points and b has {behind:.1f}: {words}"
