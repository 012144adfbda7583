"""Checks the bearer token of a request."""

import hashlib
import hmac
from typing import Final

from dsf_scorer.errors import RefusedError
from dsf_scorer.settings import Settings

MAX_TOKEN_FILE_BYTES: Final = 65_536


def check(settings: Settings, authorization: bytes | None) -> None:
    """Returns if the caller is allowed. Raises RefusedError: 401, or 503 while the token file cannot be
    used.
    """
    known = accepted(settings)
    if not known:
        return
    scheme, _, presented = (authorization or b"").partition(b" ")
    reason = "the bearer token is not one that this scoring API accepts"
    if scheme.lower() != b"bearer" or not presented.strip():
        reason = "send the header Authorization: Bearer <token>"
    # All digests are compared, each in constant time, so that timing shows neither length nor position of
    # a token.
    elif any([hmac.compare_digest(_digest(presented.strip()), _digest(token)) for token in known]):  # noqa: C419
        return
    raise RefusedError(reason, status=401, headers={"www-authenticate": "Bearer"})


def accepted(settings: Settings) -> list[bytes]:
    """The currently accepted tokens; none if every caller is served. Raises RefusedError (503) for everyone,
    also in /healthz, while the file holds no usable token.

    The file is read for each request. A mounted Secret changes in place, and neither its modification time
    nor a file watch shows that reliably; reading a few bytes is cheap compared to scoring.
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
    if tokens := content.split():
        return tokens
    message = f"this scoring API cannot check tokens now: its token file {reason}"
    raise RefusedError(message, status=503, headers={"retry-after": "5"})


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
