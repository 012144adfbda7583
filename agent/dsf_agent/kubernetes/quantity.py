"""Kubernetes quantities as whole billionths, the smallest amount that the API keeps.

Format: k8s.io/apimachinery/pkg/api/resource, type Quantity.
"""

import re
from functools import lru_cache
from typing import Final

NANOS: Final = 10**9
"""Billionths of one unit."""

_TEXT: Final = re.compile(
    r"([+-]?)(?=[0-9.])([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]?)|([KMGTPE])i|[eE]([+-]?[0-9]{1,3}))\Z",
    re.ASCII,
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {name: 2 ** (10 * power) for power, name in enumerate("KMGTPE", start=1)}
_MOST_DIGITS: Final = 100
MOST: Final = (2**63 - 1) * NANOS
"""The largest amount. The API limits quantities with a binary suffix to it, and accepts ``1e999``, which no
float holds.
"""


@lru_cache(maxsize=4096)
def nanos(text: str) -> int:
    """The amount in billionths, at most MOST. A smaller rest is rounded away from zero, as the API does.
    Raises ValueError.
    """
    match = _TEXT.match(text)
    if match is None or len(text) > _MOST_DIGITS:
        msg = f"{text[:_MOST_DIGITS]!r} is not a quantity"
        raise ValueError(msg)
    sign, whole, rest, decimal, binary, exponent = match.groups()
    fraction = rest or ""
    digits = int(whole + fraction or "0") * NANOS * (_BINARY[binary] if binary else 1)
    power = (int(exponent) if exponent else _DECIMAL[decimal or ""]) - len(fraction)
    shift: int = 10 ** abs(power)
    amount = min(digits * shift if power >= 0 else -(-digits // shift), MOST)
    return -amount if sign == "-" else amount
