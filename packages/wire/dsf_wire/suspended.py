"""Suspended scorers: score names that the reconciler writes into a ConfigMap, and agents do not run."""

import msgspec

from dsf_wire.constants import SUSPENDED_KEY


def score_names(data: object) -> frozenset[str]:
    """The score names in the ConfigMap's data; none if the key is absent. Raises msgspec.DecodeError."""
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(SUSPENDED_KEY)
    return frozenset(msgspec.json.decode(text or "[]", type=list[str]))
