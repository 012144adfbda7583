"""Foreign words without our secrets: a peer that rejects a request may quote its headers, and its words go into logs and /readyz."""

from typing import Final

HIDDEN: Final = "(token)"
SHORTEST: Final = 8
"""Characters of a token's beginning that count as a part of it: a message may have been cut in the middle of the token."""


def hide(text: str, *secrets: str | None) -> str:
    """The text with every secret in it, or the beginning of one, replaced."""
    for secret in secrets:
        if secret:
            text = _hide(text, secret)
    return text


def _hide(text: str, secret: str) -> str:
    start = secret[:SHORTEST]
    pieces: list[str] = []
    position = 0
    while (found := text.find(start, position)) >= 0:
        end = found + len(start)
        while end < len(text) and end - found < len(secret) and text[end] == secret[end - found]:
            end += 1
        pieces += [text[position:found], HIDDEN]
        position = end
    return "".join([*pieces, text[position:]])
