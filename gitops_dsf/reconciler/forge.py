"""How the reconciler sends requests to a forge: with the token and the certificates of the mounted Secret."""

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, as_call_faults, hide
from gitops_dsf.forge.forge import Answer, ForgeError, Sign
from gitops_dsf.forge.ratelimit import asked_wait
from gitops_dsf.reconciler.git.credentials import Credentials, GitError
from gitops_dsf.reconciler.hub.api import MANAGER

SECONDS: Final = 60.0
ANSWER_BYTES: Final = 4 << 20
"""Size of an answer at most: 10 pull requests with the longest text that GitHub accepts have 2.6 MB."""


async def send(method: str, url: str, *, sign: Sign, body: bytes | None, credentials: Credentials) -> Answer:
    """See `gitops_dsf.forge.Send`. Reads the Secret for each request: it may be rotated at any time. Raises
    ForgeError, and GitError if the Secret lacks what is needed.
    """
    token = credentials.token()
    client = _client(sign(token), credentials.trust)
    try:
        with as_call_faults(url=url, seconds=SECONDS):
            async with (
                asyncio.timeout(SECONDS),
                client,
                client.stream(method, url, content=body) as response,
            ):
                content = await answers.read(response, limit=ANSWER_BYTES)
    except CallFault as error:
        raise ForgeError(credentials.cleaned(hide(str(error), token))) from error
    if not response.is_success:
        # The Secret may hold another token by now.
        content = credentials.cleaned(hide(content.decode(errors="replace"), token)).encode()
    wait = asked_wait(response.status_code, response.headers, content, now=time.time())
    return Answer(response.status_code, content, wait)


def _client(signed: Mapping[str, str], certificates: Path | None) -> httpx.AsyncClient:
    trust = httpx.create_ssl_context()
    if certificates is not None:
        try:
            trust.load_verify_locations(cafile=certificates)
        except OSError as error:  # ssl.SSLError is one
            msg = f"{certificates} holds no certificates: {error}"
            raise GitError(msg) from error
    headers = {"User-Agent": MANAGER, "Content-Type": "application/json", **answers.IDENTITY, **signed}
    return webclient.client(verify=trust, timeout=httpx.Timeout(SECONDS), headers=headers)
