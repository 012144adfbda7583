"""A metric source or scoring API, called with the credentials of one scorer.

Guaranteed: messages about a call contain none of the secrets that were sent. Not guaranteed: an
answer. Every failure is an AgentError with its reason.
"""

import ssl
from dataclasses import dataclass, field, replace
from typing import Final

from dsf_agent.endpoints.auth import RequestAuth
from dsf_agent.endpoints.budget import Reservation
from dsf_agent.endpoints.credentials import AskTokenServer, EndpointCredentials, SentCredentials
from dsf_agent.endpoints.transport import Call, PeerAnswer, Transport
from dsf_agent.errors import AgentError, status_reason
from dsf_runtime import calls
from dsf_runtime.calls import display, hide
from dsf_runtime.oauth2 import ANSWER_BYTES, OAuth2Client, TokenError
from dsf_wire.scored import Reason
from dsf_wire.weburl import is_web_url

_REFUSED: Final = frozenset({400, 401})
"""A token server's answers to a client that is not known (RFC 6749 section 5.2), among others."""
_HANDSHAKE: Final = frozenset({Reason.TLS, Reason.CONNECTION_LOST})
"""A server that refuses a certificate may close the connection before its alert is read."""


@dataclass(kw_only=True, eq=False, repr=False)
class Endpoint:
    """Adds credentials and CA to calls, whose answers count against ``reservation``.

    After a 401 it reads the credentials again, after a TLS failure CA and client certificate, and
    repeats the call once: people replace secrets while the agent runs.
    """

    transport: Transport
    credentials: EndpointCredentials
    auth: RequestAuth
    reservation: Reservation
    _trust: ssl.SSLContext | None = field(init=False, default=None)
    _secrets: tuple[str, ...] = field(init=False, default=())
    _unresponsive: bool = field(init=False, default=False)
    """Whether the last call got no answer."""

    async def call(self, call: Call) -> PeerAnswer:
        """Sends a call. An HTTP error status is a PeerAnswer, other failures raise AgentError."""
        try:
            answer = await self._call(replace(call, unresponsive=self._unresponsive))
        except AgentError as error:
            self._unresponsive = True
            expired = self.credentials.expired(self.auth) if error.reason in _HANDSHAKE else ""
            if expired:
                raise error.without_traceback(f"{error}; {expired}") from error
            raise
        self._unresponsive = False
        return answer

    async def _call(self, call: Call) -> PeerAnswer:
        sent = await self.credentials.sent(self.auth)
        self._secrets = sent.secrets
        trust = self._trusted(await self.credentials.trust(self.auth))
        call = replace(call, trust=trust, on_bytes=self.reservation.add)
        try:
            answer = await self.transport.call(_with(call, sent))
        except AgentError as error:
            if not self._may_be_outdated(error):
                raise
            renewed = await self.credentials.trust(self.auth, fresh=True)
            # Nothing was replaced, so the failure would be the same.
            if renewed is None or renewed is call.trust:
                raise
            call = replace(call, trust=self._trusted(renewed))
            answer = await self.transport.call(_with(call, sent))
        if answer.status == 401 and sent.secrets:
            fresh = await self.credentials.sent(self.auth, refused=sent)
            # The peer would refuse the same credentials again.
            if fresh != sent:
                # Both, because the peer may quote the request that it refused.
                self._secrets = (*sent.secrets, *fresh.secrets)
                answer = await self.transport.call(_with(call, fresh))
        return answer

    def _may_be_outdated(self, error: AgentError) -> bool:
        """Whether a new CA or client certificate could help."""
        if self.auth.certificate is not None:
            return error.reason in _HANDSHAKE
        return error.reason is Reason.TLS and self.auth.ca is not None

    def _trusted(self, trust: ssl.SSLContext | None) -> ssl.SSLContext | None:
        """Closes the connections of a CA that was replaced."""
        if self._trust is not None and self._trust is not trust:
            self.transport.forget(self._trust)
        self._trust = trust
        return trust

    def hide(self, text: str) -> str:
        """A message without the secrets that were sent to this endpoint."""
        return hide(text, *self._secrets)


def refusal(answer: PeerAnswer, *, url: str) -> AgentError:
    """The failure for an error status of the peer at this URL."""
    text = calls.refusal(
        url, status=answer.status, location=answer.location, body=answer.body, place="in the scorer"
    )
    return AgentError(text, reason=status_reason(answer.status), retry_after=answer.retry_after)


def url_fault(field: str, url: str) -> str | None:
    """The reason why nothing can be sent to this URL, or None.

    ``field`` is the key of the configuration.
    """
    return None if is_web_url(url) else f"{field} {display(url)!r} is not an http or https URL"


def _with(call: Call, sent: SentCredentials) -> Call:
    return replace(call, headers={**call.headers, **sent.headers})


def token_server(transport: Transport) -> AskTokenServer:
    """Asks token servers by this transport."""

    async def ask(client: OAuth2Client, trust: ssl.SSLContext | None) -> bytes:
        fault = url_fault("tokenURL", client.token_url)
        if fault is not None:
            raise TokenError(fault)
        headers, body = client.request()
        url = client.token_url
        call = Call(url=url, headers=headers, body=(body,), trust=trust, max_bytes=ANSWER_BYTES)
        try:
            answer = await transport.call(call)
        except AgentError as error:
            raise TokenError(str(error)) from None
        if not answer.ok:
            failure = refusal(answer, url=url)
            raise TokenError(
                str(failure),
                retry_after=failure.retry_after,
                client_refused=answer.status in _REFUSED,
            )
        return answer.body

    return ask
