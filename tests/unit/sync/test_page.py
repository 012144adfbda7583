"""Pages to fields, whatever bytes come."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitops_dsf.hub.drift import Config, ConfigError
from gitops_dsf.sync.fetch import Page, read_page
from tests.support.fleets import JSON_VALUES


def page(body: bytes, media: str = "application/json") -> Page:
    return Page(url="http://scorer.example.com/config?token=secret", media=media, body=body)


@given(st.binary(max_size=60) | JSON_VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_fields_or_a_reason(body: bytes) -> None:
    said = outcome(body)
    assert isinstance(said, dict) or (said.isprintable() and "secret" not in said)


def outcome(body: bytes) -> Config | str:
    try:
        return read_page(page(body))
    except ConfigError as error:
        return str(error)


@pytest.mark.parametrize("value", ["\x00", "\x9b31m", "\u2028", "\u202e"])
def test_characters_that_steer_terminals_are_refused(value: str) -> None:
    said: dict[str, Any] = {"name": f"cpu{value}"}
    with pytest.raises(ConfigError, match="control characters"):
        read_page(page(json.dumps(said).encode()))
