"""The name of a score's AddOnPlacementScore, on which all programs must agree."""

import re
from typing import Final

# Kubernetes allows a DNS subdomain (RFC 1123) as the name of an object.
MAX_LENGTH: Final = 253
_FOREIGN: Final = re.compile(r"[^a-z0-9.-]")
_DASHES: Final = re.compile(r"-{2,}")
_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.ASCII
)


def sanitise(score_name: str) -> str:
    """The object name of a score, by the upstream agent's rule.

    It is lower-case. Characters other than [a-z0-9.-], and runs of them, become ``-``. It has none
    of ``-`` and ``.`` at its ends, and at most 253 characters. An empty name becomes ``score``.
    """
    # Placements name this object (scoreCoordinate.addOn.resourceName), so those that were written
    # for upstream's agent find ours only by the same rule.
    name = _DASHES.sub("-", _FOREIGN.sub("-", score_name.lower())).strip("-.")
    if len(name) > MAX_LENGTH:
        name = name[:MAX_LENGTH].rstrip("-.")
    return name or "score"


def can_be_object(name: str) -> bool:
    """Whether Kubernetes takes a sanitised name for an object.

    Upstream's rule leaves `..` and `.-` in the middle of a name, which no DNS subdomain has.
    """
    return _SUBDOMAIN.fullmatch(name) is not None
