"""A /config page as the fields of a lock: what is not JSON of the wire schema is refused with its reason. Pure."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dsf_wire.scoring import ScorerConfig
from gitops_dsf.sync.fetch import Page, display
from gitops_dsf.sync.text import shown

SCHEMA: Final = "{name, description, source{type, host, path, params{query, range, step}}, scoring{host, path, params{name, interval}}}"

Config = Mapping[str, Any]
"""`spec.config` of a lock: nested mappings, empty fields left out, keys sorted."""


class PageError(ValueError):
    """The page is not a scorer's configuration."""


def read_page(page: Page) -> Config:
    """The fields that the page fills; those that are unknown to the wire schema are passed over. Raises PageError."""
    where = display(page.url)
    if page.media in {"text/html", "application/xhtml+xml"} or page.body.lstrip()[:1] == b"<":
        msg = f"{where} is an HTML page, not JSON: a login page, a proxy's, or another program's"
        raise PageError(msg)
    if not page.body.strip():
        msg = f"{where} is empty"
        raise PageError(msg)
    try:
        config = msgspec.json.decode(page.body, type=ScorerConfig)
    except msgspec.ValidationError as error:
        msg = f"{where} has another shape: {shown(error)}; the schema is {SCHEMA}"
        raise PageError(msg) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = f" ({page.media})" if page.media not in {"", "application/json"} else ""
        msg = f"{where} is not JSON{shown(kind)}: {shown(error)}"
        raise PageError(msg) from error
    fields = filled(msgspec.to_builtins(config))
    _check_texts(fields, where)
    if not fields:
        msg = f"{where} has no field of a scorer's configuration; the schema is {SCHEMA}"
        raise PageError(msg)
    return fields


def filled(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without empty texts, zeros, nulls and mappings that hold nothing else; keys sorted."""
    result: dict[str, Any] = {}
    for key in sorted(value):
        item = filled(value[key]) if isinstance(value[key], Mapping) else value[key]
        if item:
            result[key] = item
    return result


def flat(config: Config, prefix: str = "") -> dict[str, Any]:
    """Dotted field paths to values."""
    result: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            result |= flat(value, f"{prefix}{key}.")
        else:
            result[f"{prefix}{key}"] = value
    return result


def _check_texts(config: Config, where: str) -> None:
    for path, value in flat(config).items():
        if isinstance(value, str) and not all(each.isprintable() or each in "\n\t" for each in value):
            msg = f"{where}: {path} holds control characters: {shown(value)}"
            raise PageError(msg)
