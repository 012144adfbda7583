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
    values: list[float | None] = []
    for word in re.finditer(r"\S+", text):
        match = _ITEM.fullmatch(word[0])
        if match is None:
            raise SeriesValuesError(
                f"{shortened(word[0], max_characters=40)} is not a value", offset=word.start()
            )
        count = _count(match)
        # Before the values are made: `0x999999999` would take the memory of the process.
        if len(values) + count > MAX_VALUES:
            text_of_word = shortened(word[0], max_characters=40)
            msg = f"a series has at most {MAX_VALUES:,} values, and with {text_of_word} it has more"
            raise SeriesValuesError(msg, offset=word.start())
        values += _values(match, count)
    return tuple(values)


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
    value = float(match["first"])
    step = float(match["step"] or 0)
    values: list[float | None] = []
    for _ in range(count):
        # Added up one by one, as promtool does, so that the values are the same to the last bit.
        values.append(value)
        value += step
    return values
