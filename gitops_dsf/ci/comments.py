"""The comment of a pull request that holds its preview, from a pipeline.

Only the standard library sends requests here, because pipelines install no extra.
"""

import asyncio
import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any, Final

from gitops_dsf.forge import Answer, Forge, ForgeError, Sign

_SECONDS: Final = 30.0
_BYTES: Final = 32 << 20


@dataclass(frozen=True, kw_only=True)
class Comments:
    """The comments of one pull request."""

    forge: Forge
    number: int

    def write(self, text: str, *, marker: str) -> str:
        """Writes the comment that begins with the marker. Returns `edited` or `added`. Raises ForgeError."""
        return asyncio.run(self.forge.comment(self.number, text, marker=marker))


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another server."""

    def redirect_request(self, *_: Any) -> None:  # noqa: ANN401 - the signature of the library
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirects)


@dataclass(frozen=True)
class Sender:
    """See `gitops_dsf.forge.Send`. A pipeline does nothing else meanwhile, so it may block."""

    token: str

    async def __call__(self, method: str, url: str, *, sign: Sign, body: bytes | None) -> Answer:
        """Raises ForgeError."""
        headers = {"User-Agent": "gitops-dsf", "Content-Type": "application/json", **sign(self.token)}
        request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - the forge's
        try:
            with _OPENER.open(request, timeout=_SECONDS) as answer:
                return Answer(answer.status, bytes(answer.read(_BYTES)))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(_BYTES).replace(self.token.encode(), b"(token)"))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ForgeError(str(error)) from error
