"""Plain scalars: what every reader agrees on has a value; the rest is a finding."""

import pytest

from gitops_dsf.repository.load.scalar import Ambiguous, resolve_plain
from tests.support import yamlfast


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[
            ("true", True),
            ("FALSE", False),
            ("", None),
            ("~", None),
            ("null", None),
            ("12", 12),
            ("-3", -3),
            ("+4", 4),
            ("0", 0),
        ],
        *[("1.5", 1.5), ("-0.5", -0.5), (".5", 0.5), ("1.5e+3", 1500.0), ("1e-3", 0.001), ("0x1F", 31)],
        *[
            ("cpu", "cpu"),
            ("v1.31.0", "v1.31.0"),
            ("10.0.0.1", "10.0.0.1"),
            ("12:30", "12:30"),
            ("2025-01-01", "2025-01-01"),
            ("64Gi", "64Gi"),
        ],
        *[
            ("none", "none"),
            ("None", "None"),
            ("yess", "yess"),
            ("-", "-"),
            ("+", "+"),
            (".", "."),
            ("0xZZ", "0xZZ"),
            ("1.2.3", "1.2.3"),
        ],
    ],
)
def test_agreed_scalars_have_a_value(text: str, value: object) -> None:
    found = resolve_plain(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        *[("yes", "true"), ("NO", "false"), ("On", "true"), ("off", "false"), ("y", "true"), ("N", "false")],
        *[
            ("017", "15"),
            ("0o17", "15"),
            ("0b11", "3"),
            ("1_000", "1000"),
            ("12e03", "12000"),
            ("1.", "1"),
            ("08", "8"),
        ],
        *[
            ("1_0.5", "10.5"),
            (".inf", ""),
            ("-.INF", ""),
            (".nan", ""),
            ("<<", ""),
            ("9" * 30, ""),
            ("1e+999", ""),
        ],
    ],
)
def test_scalars_that_yaml_versions_read_differently_are_ambiguous(text: str, instead: str) -> None:
    found = resolve_plain(text)
    assert isinstance(found, Ambiguous)
    assert found.instead == instead


@pytest.mark.parametrize("text", ["yes", "017", "1_000", "12e03"])
def test_the_quoted_form_that_is_asked_for_is_a_string_to_everybody(text: str) -> None:
    assert yamlfast.load(f'"{text}"') == text
