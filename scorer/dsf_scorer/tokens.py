"""Who may ask for scores: the bearer token of a request against the accepted ones."""

import hashlib
import hmac
from typing import Final

from dsf_scorer.errors import RefusedError
from dsf_scorer.settings import Settings

MAX_TOKEN_FILE_BYTES: Final = 65_536


class TokensUnavailableError(RefusedError):
    """A token file is named but holds no usable token: everybody is refused, and /healthz says so."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"this scoring API cannot check tokens now: {reason}", status=503, headers={"retry-after": "5"}
        )


class Tokens:
    """Checks Authorization headers.

    The file is read for each request: a mounted Secret changes in place, and neither its modification time
    nor a file watch is a reliable sign of it, while reading a few bytes costs less than the scoring by orders
    of magnitude.
    """

    def __init__(self, settings: Settings) -> None:
        self._file = settings.token_file
        self._digests = (_digest(settings.token.encode()),) if settings.token else ()

    @property
    def required(self) -> bool:
        return self._file is not None or bool(self._digests)

    def check(self, authorization: bytes | None) -> None:
        """Returns for a caller who may pass. Raises RefusedError: 401, or 503 while the token file cannot be
        used.
        """
        if not self.required:
            return
        accepted = self.accepted()
        scheme, _, presented = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not presented.strip():
            raise _unauthorized("send the header Authorization: Bearer <token>")
        digest = _digest(presented.strip())
        # Digests are compared, all of them, each in constant time: neither length nor position of a token
        # shows in the timing.
        matches = [hmac.compare_digest(digest, candidate) for candidate in accepted]
        if not any(matches):
            raise _unauthorized("the bearer token is not one that this scoring API accepts")

    def accepted(self) -> tuple[bytes, ...]:
        """Digests of the tokens that count now. Raises TokensUnavailableError."""
        if self._file is None:
            return self._digests
        try:
            with self._file.open("rb") as stream:
                content = stream.read(MAX_TOKEN_FILE_BYTES + 1)
        except OSError as error:
            raise TokensUnavailableError(f"its token file cannot be read ({error.strerror})") from error
        if len(content) > MAX_TOKEN_FILE_BYTES:
            raise TokensUnavailableError(f"its token file is larger than {MAX_TOKEN_FILE_BYTES} bytes")
        tokens = [line.strip() for line in content.splitlines() if line.strip()]
        if not tokens:
            raise TokensUnavailableError("its token file is empty")
        return tuple(_digest(token) for token in tokens)


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def _unauthorized(reason: str) -> RefusedError:
    return RefusedError(reason, status=401, headers={"www-authenticate": "Bearer"})
