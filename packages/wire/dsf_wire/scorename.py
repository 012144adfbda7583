"""Names of scores, on which all programs must agree: of their AddOnPlacementScores, and of suspended ones."""

import re

import msgspec

from dsf_wire.constants import SUSPENDED_KEY

_FOREIGN = re.compile(r"[^a-z0-9.-]")
_DASHES = re.compile(r"-{2,}")
MAX_LENGTH = 253


def sanitise(score_name: str) -> str:
    """The object name of a score, by upstream's rule: lower-case, other characters than [a-z0-9.-] and runs
    of them become ``-``, none at the ends nor ``.``, at most 253 characters; an empty name is ``score``.
    """
    name = _DASHES.sub("-", _FOREIGN.sub("-", score_name.lower())).strip("-.")
    if len(name) > MAX_LENGTH:
        name = name[:MAX_LENGTH].rstrip("-.")
    return name or "score"


def suspended(data: object) -> frozenset[str]:
    """The score names in the ConfigMap's data; none if the key is absent. Raises msgspec.DecodeError."""
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(SUSPENDED_KEY)
    return frozenset(msgspec.json.decode(text or "[]", type=list[str]))
