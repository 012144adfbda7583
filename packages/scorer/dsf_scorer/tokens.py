"""Checks the bearer token of a request."""

import hashlib
import hmac
from typing import Final

from dsf_scorer.errors import RefusedError
from dsf_scorer.settings import Settings

MAX_TOKEN_FILE_BYTES: Final = 65_536


class Tokens:
    """Checks Authorization headers.

    The file is read for each request. A mounted Secret changes in place, and neither its modification time
    nor a file watch shows that reliably; reading a few bytes is cheap compared to scoring.
    """

    def __init__(self, settings: Settings) -> None:
        self._file = settings.token_file
        self._digests = (_digest(settings.token.encode()),) if settings.token else ()

    @property
    def required(self) -> bool:
        return self._file is not None or bool(self._digests)

    def check(self, authorization: bytes | None) -> None:
        """Returns if the caller is allowed. Raises RefusedError: 401, or 503 while the token file cannot be
        used.
        """
        if not self.required:
            return
        accepted = self.accepted()
        scheme, _, presented = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not presented.strip():
            raise _unauthorized("send the header Authorization: Bearer <token>")
        digest = _digest(presented.strip())
        # All digests are compared, each in constant time, so that timing shows neither length nor position of
        # a token.
        matches = [hmac.compare_digest(digest, candidate) for candidate in accepted]
        if not any(matches):
            raise _unauthorized("the bearer token is not one that this scoring API accepts")

    def accepted(self) -> tuple[bytes, ...]:
        """Digests of the currently accepted tokens. Raises RefusedError (503) for everyone, also in /healthz,
        while the file holds no usable token.
        """
        if self._file is None:
            return self._digests
        try:
            with self._file.open("rb") as stream:
                content = stream.read(MAX_TOKEN_FILE_BYTES + 1)
        except OSError as error:
            raise _unavailable(f"cannot be read ({error.strerror})") from error
        if len(content) > MAX_TOKEN_FILE_BYTES:
            raise _unavailable(f"is larger than {MAX_TOKEN_FILE_BYTES} bytes")
        if not (tokens := content.split()):
            raise _unavailable("is empty")
        return tuple(map(_digest, tokens))


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _unauthorized(reason: str) -> RefusedError:
    return RefusedError(reason, status=401, headers={"www-authenticate": "Bearer"})


def _unavailable(reason: str) -> RefusedError:
    message = f"this scoring API cannot check tokens now: its token file {reason}"
    return RefusedError(message, status=503, headers={"retry-after": "5"})
