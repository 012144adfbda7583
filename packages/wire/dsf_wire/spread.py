"""Numbers that spread the work of a fleet over time. Pure."""

import hashlib


def stable_fraction(*parts: str) -> float:
    """A number in [0, 1) that depends only on the parts, so it is the same after a restart."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
