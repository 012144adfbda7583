"""Tokens and limits of a scoring API, which operators set in the environment; and their check."""

import codecs
import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Self

from dsf_scorer.errors import DefinitionError, RefusedError
from dsf_wire.secrettext import SecretFault, header_secret

TOKEN_FILE_VARIABLE: Final = "SCORER_TOKEN_FILE"  # noqa: S105 - a variable's name
TOKEN_VARIABLE: Final = "SCORER_TOKEN"  # noqa: S105 - a variable's name
MAX_TOKEN_FILE_BYTES: Final = 65_536


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Tokens and limits of one scoring API."""

    token_file: Path | None = None
    """Accepted bearer tokens, one per line (two in a rotation). The file is read for every request.
    """
    token: str = field(default="", repr=False)
    """The only accepted bearer token, if there is no file. Without both, every caller is served."""
    max_body_bytes: int = 64 * 1024 * 1024
    """Largest request; 10,000 series of 60 points are 20 MB."""
    max_series: int = 200_000
    """Most series in one request."""
    max_concurrent: int = 4
    """Requests that are scored at once, and those above 1 MiB that are read: limits memory and
    threads.
    """
    max_waiting: int = 64
    """Requests that may wait. Others are answered 503 with Retry-After."""
    timeout_seconds: float = 25.0
    """Longest time for the scoring of one request. Agents give up after 30 s."""
    read_timeout_seconds: float = 30.0
    """Longest time until a request has arrived completely."""

    def __post_init__(self) -> None:
        if self.token_file is not None and self.token:
            raise DefinitionError(
                f"both a token file and a token are set; keep one of {TOKEN_FILE_VARIABLE} and"
                f" {TOKEN_VARIABLE}"
            )
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int | float):
                continue
            may_be_zero = each.name == "max_waiting"
            if not math.isfinite(value) or value < 0 or (value == 0 and not may_be_zero):
                raise DefinitionError(
                    f"{_variable(each.name)} is {value}; it must be a number"
                    f" {'not below' if may_be_zero else 'above'} 0"
                )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads SCORER_<FIELD> for every field. Raises DefinitionError with the allowed values."""
        values: dict[str, object] = {}
        for each in fields(cls):
            variable = _variable(each.name)
            if not (text := environment.get(variable, "").strip()):
                continue
            if each.name == "token":
                values[each.name] = _token(text)
                continue
            kind: Any = Path if each.name == "token_file" else each.type
            try:
                values[each.name] = kind(text)
            except ValueError:
                number = "a whole number" if each.type is int else "a number"
                raise DefinitionError(f"{variable} is {text!r}; write {number}") from None
        return cls(**values)  # type: ignore[arg-type] # each value was made for its own field above


def _token(text: str) -> str:
    try:
        return header_secret(text)
    except SecretFault as fault:
        raise DefinitionError(f"{TOKEN_VARIABLE} {fault}; write one token, on one line") from None


def _variable(field: str) -> str:
    return f"SCORER_{field.upper()}"


def check(settings: Settings, authorization: bytes | None) -> None:
    """Returns if the caller is allowed.

    Raises RefusedError: 401, or 503 without a usable token file.
    """
    known = accepted(settings)
    if not known:
        return
    scheme, _, presented = (authorization or b"").partition(b" ")
    reason = "the bearer token is not one that this scoring API accepts"
    if scheme.lower() != b"bearer" or not presented.strip():
        reason = "send the header Authorization: Bearer <token>"
    # All digests are compared, each in constant time, so that timing shows neither length nor
    # position of a token.
    elif any([hmac.compare_digest(_digest(presented.strip()), _digest(token)) for token in known]):  # noqa: C419
        return
    raise RefusedError(reason, status=401, headers={"www-authenticate": "Bearer"})


def accepted(settings: Settings) -> list[bytes]:
    """The accepted tokens; none: every caller is served.

    Raises RefusedError (503), also in /healthz, while the file has none. It is read each time,
    because a mounted Secret changes in place, unseen by watches.
    """
    if settings.token_file is None:
        return [settings.token.encode()] if settings.token else []
    reason = "is empty"
    try:
        with settings.token_file.open("rb") as stream:
            content = stream.read(MAX_TOKEN_FILE_BYTES + 1)
    except OSError as error:
        content, reason = b"", f"cannot be read ({error.strerror})"
    if len(content) > MAX_TOKEN_FILE_BYTES:
        content, reason = b"", f"is larger than {MAX_TOKEN_FILE_BYTES} bytes"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content, reason = b"", "is UTF-16 text; write it as UTF-8"
    if tokens := content.removeprefix(codecs.BOM_UTF8).split():
        return tokens
    message = f"this scoring API cannot check tokens now: its token file {reason}"
    raise RefusedError(message, status=503, headers={"retry-after": "5"})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
