"""What pods request, as Kubernetes' own code counts it."""

import gzip
import json
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsf_agent.kubernetes.requests import MOST, NANOS, PodSpec, PodStatus, effective, nanos
from gitops_dsf.simulator import quantity

ORACLE = Path(__file__).parents[3] / "data" / "oracle" / "podrequests" / "pods.jsonl.gz"


def test_pods_request_what_kubernetes_says() -> None:
    """400 random pods with init containers, sidecars, overhead, pod-level resources and resizes."""
    lines = gzip.decompress(ORACLE.read_bytes()).splitlines()
    assert len(lines) == 400
    for line in lines:
        case = json.loads(line)
        found = effective(
            msgspec.convert(case["pod"]["spec"], PodSpec), msgspec.convert(case["pod"]["status"], PodStatus)
        )
        exact = {name: Fraction(amount, NANOS) for name, amount in found.items()}
        assert exact == {name: Fraction(text) for name, text in case["requests"].items()}, case["pod"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1", NANOS),
        ("100m", NANOS // 10),
        ("1.5", NANOS * 3 // 2),
        (".5", NANOS // 2),
        ("5.", 5 * NANOS),
        ("2Ki", 2048 * NANOS),
        ("1.5Gi", 3 * 2**29 * NANOS),
        ("3k", 3000 * NANOS),
        ("12345678n", 12_345_678),
        ("7u", 7000),
        ("7M", 7 * 10**6 * NANOS),
        ("7G", 7 * 10**9 * NANOS),
        ("7T", 7 * 10**12 * NANOS),
        ("7P", 7 * 10**15 * NANOS),
        ("7Mi", 7 * 2**20 * NANOS),
        ("7Ti", 7 * 2**40 * NANOS),
        ("1e3", 1000 * NANOS),
        ("1E3", 1000 * NANOS),
        ("2E", 2 * 10**18 * NANOS),
        ("1e-3", NANOS // 1000),
        ("0.1n", 1),
        ("-0.1n", -1),
        ("+7", 7 * NANOS),
        ("9223372036854775807", MOST),
        ("9223372036854775808", MOST),
        ("8Ei", MOST),
        ("1e999", MOST),
        ("-1e999", -MOST),
        ("9" * 100, MOST),
        ("1E", 10**18 * NANOS),
        ("1Ei", 2**60 * NANOS),
        ("1Pi", 2**50 * NANOS),
    ],
)
def test_quantities_are_read_exactly(text: str, amount: int) -> None:
    assert nanos(text) == amount


@pytest.mark.parametrize(
    "text", ["", "m", "1 Gi", "1gi", "Infinity", "1e", "٣", "1e9999", "9" * 101, "1.2.3"]
)
def test_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        nanos(text)


_NUMBERS = st.from_regex(r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})", fullmatch=True)
_SUFFIXES = st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "e3", "E-2"])


@given(number=_NUMBERS, suffix=_SUFFIXES)
def test_both_readers_of_quantities_agree(number: str, suffix: str) -> None:
    """The simulator has a reader of its own, with Go's rounding. Both agree below 2^63."""
    text = number + suffix
    other = quantity.parse(text).value
    if abs(other) < 2**62:
        assert Fraction(nanos(text), NANOS) == other
