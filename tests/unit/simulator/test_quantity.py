"""Quantities against Kubernetes' own parser: the float the scheduler compares and the canonical text CEL
sees.
"""

from __future__ import annotations

import gzip
import json

import pytest

from gitops_dsf.simulator.quantity import QuantityError, from_json, parse, pow10
from tests.unit.simulator.hub import ORACLE

QUANTITIES = json.loads(gzip.decompress((ORACLE / "cel.json.gz").read_bytes()))["quantities"]


def test_parses_as_kubernetes_does() -> None:
    """Hundreds of texts, accepted and refused: the same float to the last bit, the same canonical text."""
    wrong = []
    for text, number, canonical in QUANTITIES:
        try:
            parsed = parse(text)
            found = (parsed.approximate().hex(), str(parsed))
        except QuantityError:
            found = (None, None)
        if found != (number, canonical):
            wrong.append(f"{text!r}: Kubernetes {number} {canonical}, here {found}")
    assert len(QUANTITIES) > 800
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "other"), [("1", "1000m"), ("1Gi", "1048576Ki"), ("1e3", "1k"), ("0.5", "500m")]
)
def test_equality_is_that_of_the_value(text: str, other: str) -> None:
    """Two spellings of a number are equal and hash alike."""
    assert parse(text) == parse(other)
    assert hash(parse(text)) == hash(parse(other))


def test_manifest_numbers_are_quantities() -> None:
    """YAML numbers count as their text."""
    assert [str(from_json(value)) for value in (8, 0.5, " 2 ")] == ["8", "500m", "2"]


@pytest.mark.parametrize("text", ["", "x", "1e" + "9" * 30, "1 Gi", "0x10"])
def test_what_is_no_quantity(text: str) -> None:
    """A text Kubernetes refuses is an error."""
    with pytest.raises(QuantityError):
        parse(text)


@pytest.mark.parametrize(
    ("exponent", "value"),
    [(0, 1.0), (3, 1e3), (-3, 1e-3), (308, 1e308), (309, float("inf")), (-323, 1e-323), (-324, 0.0)],
)
def test_pow10(exponent: int, value: float) -> None:
    """Go's table, with its ends."""
    assert pow10(exponent) == value


@pytest.mark.parametrize("text", ["1e2000", "1e-2000", "9" * 5_000, "0." + "0" * 5_000 + "1"])
def test_more_digits_than_anybody_needs_are_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="more than 1000 digits"):
        parse(text)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "9" * 400])
def test_a_number_beyond_every_float_is_infinite(text: str) -> None:
    assert parse(text).approximate() == float("-inf" if text.startswith("-") else "inf")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        *(("1.0Ki", "1Ki"), ("1.5Ki", "1536"), ("0.5Mi", "512Ki")),
        *(("1000.0", "1k"), ("0.1n", "1n"), ("1000e3", "1e6"), ("0.9765625Ki", "1k"), ("01Ki", "01Ki")),
    ],
)
def test_canonical_texts(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
