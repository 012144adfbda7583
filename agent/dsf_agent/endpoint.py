"""An endpoint with its credentials: the call that a source or a scoring request makes."""

import ssl
from dataclasses import replace

from dsf_agent.budget import Share
from dsf_agent.endpoints.credentials import Auth, Credentials
from dsf_agent.errors import CallError
from dsf_agent.reasons import Reason
from dsf_agent.transport import Answer, Call, Transport
from dsf_runtime.calls import hide


class Endpoint:
    """Adds token and trust to calls. Answers count in ``share`` as they arrive. After 401 the token, after a
    TLS failure the CA is read again, and the call made once more.
    """

    def __init__(self, *, transport: Transport, credentials: Credentials, auth: Auth, share: Share) -> None:
        self._transport = transport
        self._share = share
        self._credentials = credentials
        self._auth = auth
        self._trust: ssl.SSLContext | None = None
        self._sent: tuple[str | None, ...] = ()
        self._doubtful = False
        """Whether the last call gave no answer."""

    async def call(self, call: Call) -> Answer:
        """Raises CallError; an HTTP error status is an Answer."""
        try:
            answer = await self._call(replace(call, doubtful=self._doubtful))
        except CallError:
            self._doubtful = True
            raise
        self._doubtful = False
        return answer

    async def _call(self, call: Call) -> Answer:
        token = await self._credentials.token(self._auth)
        self._sent = (token,)
        trust = self._trusted(await self._credentials.trust(self._auth))
        call = replace(call, trust=trust, arrives=self._share.arrives)
        try:
            answer = await self._transport.call(_with(call, token))
        except CallError as error:
            if error.reason is not Reason.TLS or self._auth.ca is None:
                raise
            renewed = await self._credentials.trust(self._auth, fresh=True)
            if renewed is None or renewed is call.trust:
                raise
            call = replace(call, trust=self._trusted(renewed))
            answer = await self._transport.call(_with(call, token))
        if answer.status == 401 and token is not None:
            fresh = await self._credentials.token(self._auth, refused=token)
            if fresh != token:
                self._sent = (token, fresh)
                answer = await self._transport.call(_with(call, fresh))
        return answer

    def _trusted(self, trust: ssl.SSLContext | None) -> ssl.SSLContext | None:
        """Lets go of the connections of a CA that was replaced."""
        if self._trust is not None and self._trust is not trust:
            self._transport.forget(self._trust)
        self._trust = trust
        return trust

    def hide(self, text: str) -> str:
        """Words of the peer, or about it, without the tokens that were sent to it."""
        return hide(text, *self._sent)


def _with(call: Call, token: str | None) -> Call:
    if token is None:
        return call
    return replace(call, headers={**call.headers, "Authorization": f"Bearer {token}"})
