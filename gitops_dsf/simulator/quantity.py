"""Kubernetes quantities, with the arithmetic of k8s.io/apimachinery/pkg/api/resource.

A quantity is `unscaled x 10^-scale`, and both parts matter. The scheduler compares
`float(unscaled) * Pow10(-scale)`, whose last bit depends on how the text was parsed. CEL sees the
canonical text, not the text in the manifest.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_TEXT = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)\Z", re.ASCII)
_DECIMAL_SUFFIXES = {
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
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_NAMES = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_NAMES = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)\Z", re.ASCII)

# Go reads an exponent as an int64, which has 19 digits.
_MAX_EXPONENT_CHARACTERS = 20
"""The largest number of characters of an exponent, with its sign."""

_MAX_INT64 = 2**63 - 1

# Every number of 18 decimal digits fits into an int64 (maxInt64Factors in apimachinery). Longer
# texts take the path of arbitrary precision, even if their value would fit.
_MAX_INT64_FACTORS = 18

_NANO = 9
"""The smallest unit that Kubernetes keeps is 10^-9."""

# Go computes with numbers of any length. A float64 has no more than 308 digits before the point, so
# a longer number is a mistake or an attack.
_MAX_DIGITS = 1000


class QuantityError(ValueError):
    """The text is not a quantity. Kubernetes would reject the object."""


def pow10(exponent: int) -> float:
    """Go's math.Pow10: a product or quotient of two table entries, not always the nearest float."""
    if 0 <= exponent <= 308:
        return float(f"1e{exponent // 32 * 32}") * float(f"1e{exponent % 32}")
    if -323 <= exponent <= 0:
        return float(f"1e-{-exponent // 32 * 32}") / float(f"1e{-exponent % 32}")
    return math.inf if exponent > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A parsed quantity. Equality is that of the value, as in Quantity.Equal."""

    unscaled: int
    scale: int
    format: Format
    source_text: str | None = None
    """The text, which Kubernetes keeps if it was canonical."""
    arbitrary: bool = False
    """Stored with arbitrary precision, which AsInt64 rejects for any value."""

    @property
    def value(self) -> Fraction:
        return Fraction(self.unscaled) * Fraction(10) ** -self.scale

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def same_form(self, other: "Quantity") -> bool:
        """Whether both are equal and stored the same way."""
        return (self.unscaled, self.scale, self.arbitrary) == (
            other.unscaled,
            other.scale,
            other.arbitrary,
        )

    def approximate(self) -> float:
        """AsApproximateFloat64."""
        try:
            base = float(self.unscaled)
        except OverflowError:
            base = math.inf if self.unscaled > 0 else -math.inf
        if self.scale == 0:
            return base
        return base * pow10(-self.scale)

    def __str__(self) -> str:
        """The canonical text (CanonicalizeBytes)."""
        if self.source_text is not None:
            return self.source_text
        value = self.value
        if value == 0:
            return "0"
        if self.format == "BinarySI" and abs(value) >= 1024 and value.denominator == 1:
            number, times = _strip(int(value), 1024)
            return f"{number}{_BINARY_NAMES.get(times * 10, '')}"
        number, times = _strip(self.unscaled, 10)
        exponent = times - self.scale
        # Suffixes exist for every third exponent only.
        while exponent % 3:
            number *= 10
            exponent -= 1
        if self.format == "DecimalExponent" and exponent:
            return f"{number}e{exponent}"
        if self.format == "DecimalExponent":
            return str(number)
        return f"{number}{_DECIMAL_NAMES.get(exponent, '')}"


def _strip(number: int, base: int) -> tuple[int, int]:
    """The number without factors of `base`, and how many there were."""
    times = 0
    while number and number % base == 0:
        number //= base
        times += 1
    return number, times


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a quantity's text: sign, integer and fraction digits, base and exponent."""

    sign: int
    digits: str
    fraction: str
    base: int
    exponent: int
    format: Format


def _suffix(text: str) -> tuple[int, int, Format]:
    if text in _DECIMAL_SUFFIXES:
        return 10, _DECIMAL_SUFFIXES[text], "DecimalSI"
    if text in _BINARY_SUFFIXES:
        return 2, _BINARY_SUFFIXES[text], "BinarySI"
    matched = _EXPONENT.match(text)
    if matched:
        if len(matched.group(1)) > _MAX_EXPONENT_CHARACTERS:
            raise QuantityError("the exponent of a quantity has at most 19 digits")
        return 10, int(matched.group(1)), "DecimalExponent"
    raise QuantityError(
        "unable to parse quantity's suffix; known are n u m k M G T P E, Ki Mi Gi Ti Pi Ei and"
        " e<number>"
    )


def _split(text: str) -> _Parts:
    matched = _TEXT.match(text)
    # A text without digits, such as "m", is zero for Kubernetes, so only the empty one is refused.
    if not matched or not text:
        raise QuantityError("not a quantity; quantities look like 500m, 2, 1.5 or 16Gi")
    sign, integer, fraction, suffix = matched.groups()
    base, exponent, form = _suffix(suffix)
    if len(text) > _MAX_DIGITS or abs(exponent) > _MAX_DIGITS:
        raise QuantityError(f"a quantity has at most {_MAX_DIGITS} digits")
    factor = 1
    if sign == "-":
        factor = -1
    return _Parts(factor, integer.lstrip("0") or "0", fraction or "", base, exponent, form)


@lru_cache(maxsize=65536)
def parse(text: str) -> Quantity:
    """ParseQuantity. Raises QuantityError: not a quantity."""
    if text == "0":
        return Quantity(0, 0, "DecimalSI", text)
    parts = _split(text)
    return _fast(text, parts) or _exact(parts)


def _fast(text: str, parts: _Parts) -> Quantity | None:
    """The int64 path of ParseQuantity; None if Go falls back to arbitrary precision."""
    digits = parts.digits + parts.fraction
    if parts.base == 10:
        precision = _MAX_INT64_FACTORS - len(digits)
        scale = parts.exponent
        mantissa = 1
    elif parts.fraction:
        return None
    else:
        # Ten binary digits are about three decimal ones.
        precision = 14 - len(digits) - parts.exponent * 3 // 10
        scale = 0
        mantissa = 1 << parts.exponent
    scale -= len(parts.fraction)
    value = int(digits)
    if precision < 0 or scale < -_NANO or value * mantissa > _MAX_INT64:
        return None
    # Kubernetes keeps the text if this quick test says that it is canonical.
    if parts.base == 2:
        canonical = value & 0x07 != 0
    else:
        canonical = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    source_text = None
    if canonical:
        source_text = text
    return Quantity(parts.sign * value * mantissa, -scale, parts.format, source_text)


def _exact(parts: _Parts) -> Quantity:
    """The arbitrary-precision path of ParseQuantity.

    Values are rounded away from zero to nanos. Binary ones are capped at 2^63 - 1.
    """
    amount = Fraction(int(parts.digits + parts.fraction), 10 ** len(parts.fraction))
    amount *= Fraction(parts.base) ** parts.exponent
    unscaled = math.ceil(amount * 10**_NANO)
    scale = _NANO
    form = parts.format
    if form == "BinarySI" and amount > _MAX_INT64:
        unscaled = _MAX_INT64
        scale = 0
    if form == "BinarySI" and 0 < amount < 1:
        form = "DecimalSI"
    return Quantity(parts.sign * unscaled, scale, form, arbitrary=True)


def from_json(value: str | float) -> Quantity:
    """Reads a quantity from a manifest, as a string or a bare number (int-or-string)."""
    if isinstance(value, str):
        return parse(value.strip())
    return parse(repr(value))
