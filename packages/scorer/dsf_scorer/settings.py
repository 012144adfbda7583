"""The settings of a scoring API, from the environment, and the check of tokens.

Guaranteed: a setting that cannot work is a DefinitionError on import. The file with tokens is read
for every request, so a rotated token counts at once. Not guaranteed: that a token is set; without
one every caller is served.
"""

import codecs
import hashlib
import hmac
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Final, Self

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
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int | float):
                _check_limit(setting.name, value)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads SCORER_<FIELD> for every field. Raises DefinitionError with the allowed values."""
        values: dict[str, object] = {}
        for setting in fields(cls):
            text = environment.get(_variable(setting.name), "").strip()
            if not text:
                continue
            if setting.name == "token":
                values[setting.name] = _token(text)
            elif setting.name == "token_file":
                values[setting.name] = Path(text)
            elif setting.type is int:
                values[setting.name] = _whole_number(setting.name, text)
            else:
                values[setting.name] = _number(setting.name, text)
        # Each value was made for its own field above.
        return cls(**values)  # type: ignore[arg-type]


def _check_limit(name: str, value: float) -> None:
    """Raises DefinitionError.

    Only the number of requests that may wait can be 0: then none waits.
    """
    is_number = math.isfinite(value)
    if name == "max_waiting":
        if not is_number or value < 0:
            raise DefinitionError(f"{_variable(name)} is {value}; it must be a number not below 0")
    elif not is_number or value <= 0:
        raise DefinitionError(f"{_variable(name)} is {value}; it must be a number above 0")


def _whole_number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DefinitionError(f"{_variable(name)} is {text!r}; write a whole number") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DefinitionError(f"{_variable(name)} is {text!r}; write a number") from None


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
    tokens = accepted(settings)
    if not tokens:
        return
    scheme, _, presented = (authorization or b"").partition(b" ")
    # The scheme is the same in any case (RFC 9110, section 11.1).
    if scheme.lower() != b"bearer" or not presented.strip():
        raise _unauthorized("send the header Authorization: Bearer <token>")
    digest = _digest(presented.strip())
    is_accepted = False
    # All digests are compared, each in constant time, so that timing shows neither length nor
    # position of a token.
    for token in tokens:
        is_accepted |= hmac.compare_digest(digest, _digest(token))
    if not is_accepted:
        raise _unauthorized("the bearer token is not one that this scoring API accepts")


def _unauthorized(message: str) -> RefusedError:
    return RefusedError(message, status=401, headers={"www-authenticate": "Bearer"})


def accepted(settings: Settings) -> list[bytes]:
    """The accepted tokens; none: every caller is served.

    Raises RefusedError (503), also in /healthz, while the file has none.
    """
    if settings.token_file is not None:
        return _tokens_of(settings.token_file)
    if settings.token:
        return [settings.token.encode()]
    return []


def _tokens_of(file: Path) -> list[bytes]:
    # Read each time, because a mounted Secret changes in place, unseen by watches.
    try:
        with file.open("rb") as stream:
            content = stream.read(MAX_TOKEN_FILE_BYTES + 1)
    except OSError as error:
        raise _unavailable(
            "this scoring API cannot check tokens now: its token file cannot be read"
            f" ({error.strerror})"
        ) from error
    if len(content) > MAX_TOKEN_FILE_BYTES:
        raise _unavailable(
            "this scoring API cannot check tokens now: its token file is larger than"
            f" {MAX_TOKEN_FILE_BYTES} bytes"
        )
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise _unavailable(
            "this scoring API cannot check tokens now: its token file is UTF-16 text; write it as"
            " UTF-8"
        )
    tokens = content.removeprefix(codecs.BOM_UTF8).split()
    if not tokens:
        raise _unavailable("this scoring API cannot check tokens now: its token file is empty")
    return tokens


def _unavailable(message: str) -> RefusedError:
    return RefusedError(message, status=503, headers={"retry-after": "5"})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
