"""Reads a scorer's configuration, from a /config page or a hub's status, as the fields of a lock. Pure."""

from typing import Final

import msgspec

from dsf_wire.scoring import ScorerConfig
from dsf_wire.text import printable
from gitops_dsf.hub.drift import Config, filled, flat

SCHEMA: Final = (
    "{name, description, source{type, host, path, params{query, range, step}}, scoring{host, path,"
    " params{name, interval}}}"
)


class ConfigError(ValueError):
    """The data is not a scorer's configuration."""


def read_config(data: object, *, where: str) -> Config:
    """Returns the fields that are set in plain data, which `where` names in messages. Raises ConfigError if
    there are none, or if a text contains characters that are not printable.
    """
    try:
        found = filled(msgspec.to_builtins(msgspec.convert(data, ScorerConfig)))
    except msgspec.ValidationError as error:
        msg = f"{where} has another shape: {printable(error, most=120)}; the schema is {SCHEMA}"
        raise ConfigError(msg) from error
    for path, value in flat(found).items():
        if isinstance(value, str) and not all(each.isprintable() or each in "\n\t" for each in value):
            raise ConfigError(f"{where}: {path} holds control characters: {printable(value, most=120)}")
    if not found:
        raise ConfigError(f"{where} has no field of a scorer's configuration; the schema is {SCHEMA}")
    return found
