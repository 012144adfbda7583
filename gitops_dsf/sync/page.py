"""Reads a /config page as the fields of a lock. Rejects what is not JSON of the wire schema. Pure."""

import msgspec

from dsf_runtime.calls import display
from dsf_wire.scoring import ScorerConfig
from dsf_wire.text import printable
from gitops_dsf.hub.drift import Config
from gitops_dsf.sync.config import ConfigError, fields, wrong_shape
from gitops_dsf.sync.fetch import Page


def read_page(page: Page) -> Config:
    """Returns the fields that the page sets. Fields unknown to the wire schema are ignored. Raises
    ConfigError.
    """
    where = display(page.url)
    if page.media in {"text/html", "application/xhtml+xml"} or page.body.lstrip()[:1] == b"<":
        msg = f"{where} is an HTML page, not JSON: a login page, a proxy's, or another program's"
        raise ConfigError(msg)
    if not page.body.strip():
        msg = f"{where} is empty"
        raise ConfigError(msg)
    try:
        config = msgspec.json.decode(page.body, type=ScorerConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(wrong_shape(error, where)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        kind = f" ({page.media})" if page.media not in {"", "application/json"} else ""
        msg = f"{where} is not JSON{printable(kind, most=120)}: {printable(error, most=120)}"
        raise ConfigError(msg) from error
    return fields(config, where=where)
