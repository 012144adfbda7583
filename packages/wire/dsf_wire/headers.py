"""HTTP headers that a metric source may add to the agent's requests."""

import re
from typing import Final

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2."""
_OF_THE_CONNECTION: Final = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "expect"}
)
"""Headers that concern one connection. Proxies remove them (RFC 9110, section 7.6.1)."""
_OF_THE_AGENT: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "authorization",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }
)
"""Headers that the agent sets itself."""


def is_header_name(name: str) -> bool:
    """Whether a header can have this name in HTTP."""
    return _NAME.fullmatch(name) is not None


def name_fault(name: str) -> str:
    """The reason why a header of this name cannot be added; empty if it can."""
    low = name.lower()
    if not is_header_name(name):
        return f"{name!r} is not the name of a header"
    if low in _OF_THE_AGENT:
        return f"the agent sets the header {name} itself"
    # Proxy-Authorization and its kin are for the next proxy, and would give a secret to it.
    if low in _OF_THE_CONNECTION or low.startswith("proxy-"):
        return f"the header {name} concerns a single connection"
    return ""


def value_fault(value: str) -> str:
    """The reason why this cannot be the value of a header; empty if it can.

    The text does not contain the value.
    """
    if not value:
        return "the value is empty"
    # HTTP libraries quote a value that they refuse in their message, and so in the log. So it is
    # refused here, without being repeated.
    if not value.isascii() or not value.isprintable():
        return "the value has a line break or another character that is not allowed in a header"
    return "the value begins or ends with a space" if value != value.strip() else ""
