"""What a check of a move measured, in words: the same in ledgers, records, Events and `status`."""

from gitops_dsf.wording import prioritizer_text


def check_text(score: str, value: int | None, at_least: int | None) -> str:
    """Formats `shop-slo 62 of at least 80`. `score` is a resource and a dimension (`cpu/cpu`).

    `value` is None if no score counts, and `at_least` if nobody knows which score is good.
    """
    name = prioritizer_text(score)
    if value is None:
        return f"{name} not known"
    if at_least is None:
        return f"{name} {value}, and the score before the move is not known"
    return f"{name} {value} of at least {at_least}"
