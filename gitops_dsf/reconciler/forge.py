"""Requests of the reconciler to a forge.

They carry the token of the mounted Secret, and trust the certificates in it. Not guaranteed: that a
request which failed had no effect. The next pass asks the forge what is there.
"""

import asyncio
import ssl
import time
from collections.abc import Mapping
from typing import Final

import httpx

from dsf_runtime import answers, webclient
from dsf_runtime.calls import CallFault, as_call_faults, hide
from gitops_dsf.forge.ratelimit import asked_wait
from gitops_dsf.forge.sending import ForgeAnswer, ForgeError, Sign
from gitops_dsf.reconciler.git.credentials import GitCredentials, GitError
from gitops_dsf.reconciler.hub.api import MANAGER

SECONDS: Final = 60.0
ANSWER_BYTES: Final = 4 << 20
"""Bytes of an answer at most.

10 pull requests with the longest text that GitHub accepts have 2.6 MB.
"""


async def send(
    method: str, url: str, *, sign: Sign, body: bytes | None, credentials: GitCredentials
) -> ForgeAnswer:
    """See `gitops_dsf.forge.sending`.

    Reads the Secret for each request: it may be rotated at any time. Raises ForgeError, and
    GitError if the Secret lacks what is needed.
    """
    token = credentials.token()
    client = _client(url, sign(token), credentials)
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
    return ForgeAnswer(response.status_code, content, wait)


def _client(url: str, signed: Mapping[str, str], credentials: GitCredentials) -> httpx.AsyncClient:
    # A client for each request: the certificates in the Secret may be others by now, and a proposal
    # takes only a few requests.
    trust = webclient.SystemTrust().for_url(url)
    if (certificates := credentials.trust) is not None:
        try:
            trust.load_verify_locations(cadata=certificates)
        except (ssl.SSLError, ValueError) as error:
            raise GitError(f"{credentials.folder}/ca.crt holds no certificates: {error}") from error
    headers = {
        "User-Agent": MANAGER,
        "Content-Type": "application/json",
        **answers.IDENTITY,
        **signed,
    }
    return webclient.client(verify=trust, timeout=httpx.Timeout(SECONDS), headers=headers)
