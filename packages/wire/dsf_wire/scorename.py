"""The name of a score's AddOnPlacementScore. Renderer of Placements and agent must agree on it."""

import re

_FOREIGN = re.compile(r"[^a-z0-9.-]")
_DASHES = re.compile(r"-{2,}")
MAX_LENGTH = 253


def sanitise(score_name: str) -> str:
    """The object name of a score, by upstream's rule.

    Lower-case; every character outside [a-z0-9.-] becomes ``-``; runs of ``-`` collapse; leading and trailing
    ``-`` and ``.`` go; cut at 253 characters and trimmed of a non-alphanumeric end; an empty name is
    ``score``.
    """
    name = _DASHES.sub("-", _FOREIGN.sub("-", score_name.lower())).strip("-.")
    if len(name) > MAX_LENGTH:
        name = name[:MAX_LENGTH].rstrip("-.")
    return name or "score"
