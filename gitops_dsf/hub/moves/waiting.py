"""Old copies of moved applications that wait, as the ConfigMap `gitops-dsf-moves` reports them.

The reconciler knows more than a reader of the hub can find out: since when a decision holds, how
healthy a copy was, what the API server refused. So `status` prints the reason of the reconciler,
and has no rules of its own.
"""

import msgspec
from msgspec import Struct

from gitops_dsf.hub.moves.causes import MoveCause

WAITS_KEY = "waits"
"""The key of that ConfigMap. Its other keys belong to the paced moves."""
MAX_WAITS = 200
"""Copies that are reported.

A ConfigMap holds 1 MB, and the ledger of paced moves needs most of it.
"""


class WaitingCopy(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A copy on a cluster that is no longer decided, and why it is still there."""

    application_set: str
    cluster: str
    application: str
    reason: str
    """One word (docs/operate/reconciler.md#make-before-break)."""
    message: str
    since: float
    """The time since when this is the reason, in seconds since 1970."""
    cause: MoveCause | None = None
    """The cause of the move of the decision, if it is known."""


def read_waits(data: object) -> tuple[WaitingCopy, ...]:
    """The copies in the data of the ConfigMap; none if it cannot be read.

    They are only shown, so a broken entry must not fail a verb.
    """
    try:
        texts = msgspec.convert(data, dict[str, str] | None) or {}
        return msgspec.json.decode(texts.get(WAITS_KEY) or "[]", type=tuple[WaitingCopy, ...])
    except msgspec.DecodeError:
        return ()


def encode_waits(waits: tuple[WaitingCopy, ...]) -> dict[str, str]:
    """The key of the ConfigMap with these copies."""
    return {WAITS_KEY: msgspec.json.encode(waits).decode()}
