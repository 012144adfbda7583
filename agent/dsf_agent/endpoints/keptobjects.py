"""Secrets and ConfigMaps of the agent's namespace, kept for a minute.

They are read once for all scorers that name them. While the API server does not answer, the old
value is used, so that its restart stops no scorer. An object that was deleted, or that the agent
may not read any more, is not used any longer. Messages name the object and the key, but never
contain a value.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from urllib.parse import quote

from dsf_agent.endpoints.apiserver import AgentApiServer
from dsf_agent.errors import AgentError
from dsf_runtime import clock
from dsf_wire.scored import Reason
from dsf_wire.secrettext import SecretFault, header_secret, line_secret, pem_secret

KEEP_SECONDS: Final = 60.0
"""A Secret is read again after this time.

So a new token is used even if the old one still works.
"""
STALE_SECONDS: Final = 10.0
"""Pause between two reads while the API server does not answer. The old value is used meanwhile."""
_GONE: Final = frozenset({Reason.NOT_FOUND, Reason.FORBIDDEN})
"""The object or the right to read it was removed. Other failures say nothing about the object."""

log = logging.getLogger(__name__)

ReadObject = Callable[[str, str], Awaitable[dict[str, Any]]]
"""Reads an object by its kind (Secret or ConfigMap) and name. Raises AgentError."""
SecretValues = tuple[str, ...]
"""Values of keys of one Secret."""


class SecretForm(Enum):
    """The form of the value in a key of a Secret. The value is the word for it in messages."""

    TOKEN = "token"  # noqa: S105 - a word of messages, not a token
    HEADER = "value of a header"
    TEXT = "text"
    PEM = "PEM text"

    def read(self, encoded: object) -> str:
        """The value as it is used. Raises SecretFault."""
        if not isinstance(encoded, str):
            raise SecretFault("is missing")
        try:
            # Without `validate` Python skips characters that are not Base64.
            data = base64.b64decode(encoded, validate=True)
        except ValueError:
            raise SecretFault("is not Base64") from None
        if self is SecretForm.PEM:
            return pem_secret(data)
        if self is SecretForm.TEXT:
            return line_secret(data)
        return header_secret(data)


@dataclass(kw_only=True)
class _KeptObject:
    """The data of an object as it was read last."""

    data: Mapping[str, Any]
    number: int
    """The number of objects that had been read before, to recognise those read after a refusal."""
    until: float
    """Monotonic time at which it is read again."""
    stale: bool = False
    """Whether the last read failed."""


class KeptObjects:
    """Reads and keeps Secrets and ConfigMaps. All methods that read raise AgentError."""

    def __init__(self, read: ReadObject) -> None:
        self._read = read
        self._kept: dict[tuple[str, str], _KeptObject] = {}
        self._locks: dict[tuple[str, str], asyncio.Lock] = {}
        self.reads = 0
        """The number of objects that were read.

        A read with ``after`` of this number does not use a kept value.
        """

    def keep_only(self, places: Collection[tuple[str, str]]) -> None:
        """Forgets all other objects.

        Secrets of removed scorers must not stay in memory. ``places`` are kinds and names.
        """
        self._kept = {key: kept for key, kept in self._kept.items() if key in places}
        # Two reads of one object must share a lock, also if one of them began before.
        self._locks = {
            key: lock for key, lock in self._locks.items() if key in places or lock.locked()
        }

    async def secret_values(
        self, name: str, keys: SecretValues, form: SecretForm, *, after: int
    ) -> SecretValues:
        """Values of keys of a Secret."""
        data = await self.data(
            "Secret",
            name,
            where=where(name, *keys),
            reason=Reason.TOKEN_UNAVAILABLE,
            after=after,
        )
        values = []
        for key in keys:
            try:
                values.append(form.read(data.get(key)))
            except SecretFault as fault:
                msg = f"{where(name, key)} holds no {form.value}: it {fault}"
                raise AgentError(msg, reason=Reason.TOKEN_UNAVAILABLE) from None
        return tuple(values)

    async def data(
        self, kind: str, name: str, *, where: str, reason: Reason, after: int
    ) -> Mapping[str, Any]:
        """The data of an object that was read after this number of reads.

        ``where`` and ``reason`` are those of the failure if it cannot be read.
        """
        object_key = kind, name
        async with self._locks.setdefault(object_key, asyncio.Lock()):
            kept = self._kept.get(object_key)
            if kept is not None and kept.number >= after and kept.until > clock.monotonic():
                return kept.data
            # Counted before the read: a refusal during it may concern the value that it returns.
            number = self.reads
            self.reads += 1
            try:
                data = (await self._read(kind, name)).get("data")
            except AgentError as error:
                # After a refusal the old value is known to be wrong, so it is not used once more.
                if kept is None or kept.number < after or error.reason in _GONE:
                    raise AgentError(f"{where} cannot be read: {error}", reason=reason) from error
                if not kept.stale:
                    text = "%s cannot be read: %s; the old value is used"
                    log.warning(text, where, error, extra={"reason": reason.value})
                kept.stale = True
                kept.until = clock.monotonic() + STALE_SECONDS
                return kept.data
            kept = _KeptObject(
                # An object without any key has no such field.
                data=data if isinstance(data, dict) else {},
                number=number,
                until=clock.monotonic() + KEEP_SECONDS,
            )
            self._kept[object_key] = kept
            return kept.data


def reader(server: AgentApiServer | None, *, namespace: str) -> ReadObject:
    """Reads (right ``get``) in one namespace of the managed cluster.

    A laptop may have no access.
    """

    async def read(kind: str, name: str) -> dict[str, Any]:
        if server is None:
            raise AgentError(
                f"{kind} {name!r} is needed, but there is no access to the managed cluster's API;"
                " give --spoke-kubeconfig",
                reason=Reason.NOT_FOUND,
            )
        plural = f"{kind.lower()}s"
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/{plural}/{quote(name, safe='')}"
        return await server.call("GET", path)

    return read


def where(name: str, *keys: str) -> str:
    """The place of keys of a Secret, for messages."""
    if len(keys) == 1:
        return f"key {keys[0]!r} of Secret {name!r}"
    quoted = " and ".join(repr(key) for key in keys)
    return f"keys {quoted} of Secret {name!r}"
