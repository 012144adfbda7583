from dsf_wire.scorevalue import default_items
from dsf_wire.summary import Summary


def test_the_default_score_is_an_item_named_without_labels() -> None:
    scorer = Summary(
        name="s", score_name="cpu", default_score=7, score_dimension_format="${scoreName}@${cluster}"
    )
    assert default_items(scorer, cluster="c1") == {"cpu@c1": 7}


def test_without_a_default_score_nothing_is_published() -> None:
    assert default_items(Summary(name="s", score_name="cpu"), cluster="c1") is None
