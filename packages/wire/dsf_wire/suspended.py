"""The suspended scorers: a JSON array of score names in a ConfigMap of the hub namespace.
The reconciler writes it, agents do not call these scorers, and `gitops-dsf status` shows them.
"""

import msgspec

from dsf_wire.constants import SUSPENDED_KEY


def score_names(data: object) -> frozenset[str]:
    """The score names in the ConfigMap's data; none if the key is absent. Raises msgspec.DecodeError."""
    text = (msgspec.convert(data, dict[str, str] | None) or {}).get(SUSPENDED_KEY)
    return frozenset(msgspec.json.decode(text or "[]", type=list[str]))
