"""Plain scalars: what every reader agrees on has a value; the rest is a finding."""

import pytest

from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain

TEXTS = """
    cpu v1.31.0 10.0.0.1 12:30 2025-01-01 64Gi none None yess - + . 0xZZ 1.2.3
"""
NUMBERS = {"12": 12, "-3": -3, "+4": 4, "0": 0, "0x1F": 31, "1.5": 1.5, "-0.5": -0.5, ".5": 0.5}
WORDS = {"true": True, "FALSE": False, "": None, "~": None, "null": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *NUMBERS.items(),
        *WORDS.items(),
        ("1.5e+3", 1500.0),
        ("1e-3", 0.001),
        *((text, text) for text in TEXTS.split()),
    ],
)
def test_agreed_scalars_have_a_value(text: str, value: object) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


SWITCHES = {"yes": "true", "NO": "false", "On": "true", "off": "false", "y": "true", "N": "false"}
ODD_NUMBERS = {
    "0o17": "15",
    "0b11": "3",
    "1_000": "1000",
    "12e03": "12000",
    "1.": "1",
    "08": "8",
}
UNSAID = [".inf", "-.INF", ".nan", "<<", "9" * 30, "1e+999"]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        *((text, (meaning,)) for text, meaning in (SWITCHES | ODD_NUMBERS).items()),
        ("1_0.5", ("10.5",)),
        *((text, ()) for text in UNSAID),
        # YAML 1.2 reads a decimal number, kubectl an octal one.
        ("017", ("17", "15")),
        ("060", ("60", "48")),
        ("-012", ("-12", "-10")),
        ("07", ("7",)),
    ],
)
def test_scalars_that_yaml_versions_read_differently_are_ambiguous(
    text: str, readings: tuple[str, ...]
) -> None:
    found = resolve_plain(text)
    assert isinstance(found, Ambiguous)
    assert found.readings == readings
