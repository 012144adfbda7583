"""Converts a scorer's configuration, from a /config page or a hub's status, to the fields of a lock. Pure."""

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
    """Reads the fields of a configuration from plain data. `where` names the data in messages. Raises
    ConfigError.
    """
    try:
        config = msgspec.convert(data, ScorerConfig)
    except msgspec.ValidationError as error:
        raise ConfigError(wrong_shape(error, where)) from error
    return fields(config, where=where)


def wrong_shape(error: msgspec.ValidationError, where: str) -> str:
    """The message for data of another shape."""
    return f"{where} has another shape: {printable(error, most=120)}; the schema is {SCHEMA}"


def fields(config: ScorerConfig, *, where: str) -> Config:
    """The fields that are set. Raises ConfigError if there are none, or if a text contains characters that
    are not printable.
    """
    found = filled(msgspec.to_builtins(config))
    for path, value in flat(found).items():
        if isinstance(value, str) and not all(each.isprintable() or each in "\n\t" for each in value):
            msg = f"{where}: {path} holds control characters: {printable(value, most=120)}"
            raise ConfigError(msg)
    if not found:
        msg = f"{where} has no field of a scorer's configuration; the schema is {SCHEMA}"
        raise ConfigError(msg)
    return found
