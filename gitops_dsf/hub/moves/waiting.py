"""What old copies of moved applications wait for, as the reconciler tells it in the ConfigMap
`gitops-dsf-moves`.

The reconciler knows more than a reader of the hub can find out: since when a decision holds, how healthy a
copy was, what the API server refused. So `status` prints the reason that the reconciler has, and has no rules
of its own.
"""

import msgspec
from msgspec import Struct

from gitops_dsf.hub.moves.causes import MoveCause

WAITS_KEY = "waits"
"""The key of that ConfigMap. Its other keys belong to the paced moves."""
MAX_WAITS = 200
"""Copies that are told. A ConfigMap holds 1 MB, and the ledger of paced moves needs most of it."""


class WaitingCopy(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A copy on a cluster that is no longer decided, and why it is still there."""

    application_set: str
    cluster: str
    application: str
    reason: str
    """One word (docs/operate/reconciler.md#make-before-break)."""
    message: str
    since: float
    """Since when this is the reason, in seconds since 1970."""
    cause: MoveCause | None = None
    """Why the decision moved, if that is known."""


def read_waits(data: object) -> tuple[WaitingCopy, ...]:
    """What the data of the ConfigMap tells.

    It is only shown, so what cannot be read tells nothing.
    """
    try:
        texts = msgspec.convert(data, dict[str, str] | None) or {}
        return msgspec.json.decode(texts.get(WAITS_KEY) or "[]", type=tuple[WaitingCopy, ...])
    except msgspec.DecodeError:
        return ()


def encode_waits(waits: tuple[WaitingCopy, ...]) -> dict[str, str]:
    return {WAITS_KEY: msgspec.json.encode(waits).decode()}
