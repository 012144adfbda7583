"""Fields of Placements that the API server takes and OCM's controllers never read
(docs/contributing/ocm-behaviour.md).

tests/hub/test_unread_fields.py reads the source of the pinned OCM again: it fails when a newer pin reads one
of these, or has others.
"""

from collections.abc import Mapping
from typing import Final

SEARCHED_OCM: Final = "v1.2.1"
"""Version of OCM whose source was searched: the one that tests/hub/ocm/go.mod pins."""

UNREAD: Final[Mapping[str, str]] = {
    "scoreRateLimit": (
        "remove it; what holds moves back is a weight of the built-in Steady, or a larger publish.deadband of"
        " the scorer"
    ),
    "sortBy": "remove it; clusters are ranked by prioritizerPolicy alone",
    "spreadPolicy": "remove it; write one Placement for each topology to spread over",
}
"""Field of `spec`, and what to write instead. The CRD of the pinned OCM has the last one; those of its main
branch have all three.
"""
