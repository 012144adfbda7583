"""Quantities of Kubernetes, such as ``250m`` and ``1.5Gi``, as whole billionths. Pure.

The format is that of k8s.io/apimachinery/pkg/api/resource. Billionths are its finest unit, so
nothing is lost.
"""

import re
from functools import lru_cache
from typing import Final

NANOS: Final = 10**9
"""Billionths of one unit."""
MAX_NANOS: Final = (2**63 - 1) * NANOS
"""The largest amount, to which the API limits binary ones.

It accepts ``1e999``, which no float holds.
"""
_MAX_DIGITS: Final = 100
"""Characters of a quantity. No honest one needs as many."""
_TEXT: Final = re.compile(
    r"([+-]?)(?=[0-9.])([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]?)|([KMGTPE])i|[eE]([+-]?[0-9]{1,3}))\Z",
    re.ASCII,
)
_DECIMAL_POWERS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_FACTORS: Final = {name: 2 ** (10 * power) for power, name in enumerate("KMGTPE", start=1)}


@lru_cache(maxsize=4096)
def nanos(text: str) -> int:
    """Billionths, at most MAX_NANOS, rounded away from zero, as the API does.

    Raises ValueError for a text that is not a quantity.
    """
    match = _TEXT.match(text)
    if match is None or len(text) > _MAX_DIGITS:
        raise ValueError(f"{text[:_MAX_DIGITS]!r} is not a quantity")
    sign, whole, rest, decimal, binary, exponent = match.groups()
    fraction = rest or ""
    digits = int(whole + fraction or "0") * NANOS
    if binary:
        digits *= _BINARY_FACTORS[binary]
    power = int(exponent) if exponent else _DECIMAL_POWERS[decimal or ""]
    power -= len(fraction)
    shift: int = 10 ** abs(power)
    # A division of the negated number rounds up, which is away from zero for the digits of either
    # sign.
    amount = min(digits * shift if power >= 0 else -(-digits // shift), MAX_NANOS)
    return -amount if sign == "-" else amount
