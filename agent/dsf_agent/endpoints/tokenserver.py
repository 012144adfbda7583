"""Requests for access tokens, with the limits of all other calls."""

import ssl

from dsf_agent.endpoints.credentials import AskTokenServer
from dsf_agent.endpoints.endpoint import refusal, url_fault
from dsf_agent.endpoints.transport import Call, Transport
from dsf_agent.errors import AgentError
from dsf_runtime.clock import Clock
from dsf_runtime.oauth2 import ANSWER_BYTES, Client, TokenError

_REFUSED = frozenset({400, 401})
"""The answers to a client that is not known (RFC 6749 section 5.2), among others."""


def token_server(transport: Transport, *, clock: Clock) -> AskTokenServer:
    """Asks token servers by this transport."""

    async def ask(client: Client, trust: ssl.SSLContext | None) -> bytes:
        fault = url_fault("tokenURL", client.token_url)
        if fault is not None:
            raise TokenError(fault)
        headers, body = client.request()
        call = Call(
            method="POST",
            url=client.token_url,
            headers=headers,
            body=(body,),
            trust=trust,
            most_bytes=ANSWER_BYTES,
        )
        try:
            answer = await transport.call(call)
        except AgentError as error:
            raise TokenError(str(error)) from None
        if not answer.ok:
            told = refusal(answer, url=client.token_url, now=clock.wall())
            raise TokenError(
                str(told), retry_after=told.retry_after, client_refused=answer.status in _REFUSED
            )
        return bytes(answer.body)

    return ask
