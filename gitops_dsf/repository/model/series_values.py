"""Reads the values of a series in the expanding notation of `promtool test rules`.

`a+bxn` is a, followed by n values that grow by b each; `axn` is a, n+1 times; `_`, `_xn` and
`stale` are missing values. Native histograms are not read, because a score is one number.
"""

import re
from typing import Final

from gitops_dsf.wording import shortened

MAX_VALUES: Final = 10_000
"""Values of one series."""

_NUMBER: Final = r"(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A number without sign. Leading zeros are refused, because promtool reads some of them as octal.
"""

_ITEM: Final = re.compile(
    r"(?P<missing>_|stale)"
    r"|_x(?P<times>[0-9]{1,9})"
    r"|(?P<special>[+-]?(?i:inf|nan))"
    rf"|(?P<first>[+-]?{_NUMBER})(?:(?P<step>[+-]{_NUMBER})?x(?P<more>[0-9]{{1,9}}))?"
)


class SeriesValuesError(ValueError):
    """The text is not in the notation. `offset` is the character where the wrong part begins."""

    def __init__(self, message: str, *, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def expand(text: str) -> tuple[float | None, ...]:
    """The values; None where one is missing. Raises SeriesValuesError."""
    found: list[float | None] = []
    for word in re.finditer(r"\S+", text):
        match = _ITEM.fullmatch(word[0])
        if match is None:
            raise SeriesValuesError(
                f"{shortened(word[0], most=40)} is not a value", offset=word.start()
            )
        count = _count(match)
        if len(found) + count > MAX_VALUES:
            shown = shortened(word[0], most=40)
            msg = f"a series has at most {MAX_VALUES:,} values, and with {shown} it has more"
            raise SeriesValuesError(msg, offset=word.start())
        found += _values(match, count)
    return tuple(found)


def _count(match: re.Match[str]) -> int:
    if match["times"]:
        return int(match["times"])
    # As promtool reads it: a repeated value is followed by n more.
    return int(match["more"] or 0) + 1


def _values(match: re.Match[str], count: int) -> list[float | None]:
    if match["missing"] or match["times"]:
        return [None] * count
    if match["special"]:
        return [float(match["special"])]
    value, step = float(match["first"]), float(match["step"] or 0)
    found: list[float | None] = []
    for _ in range(count):
        # Added up one by one, as promtool does, so that the values are the same to the last bit.
        found.append(value)
        value += step
    return found
