"""Fields of Placements that the API server accepts and OCM's controllers never read
(docs/contributing/ocm-behaviour.md).

tests/hub/test_unread_fields.py searches the source of the pinned OCM. It fails when a new version reads one
of these fields or has others.
"""

from collections.abc import Mapping
from typing import Final

SEARCHED_OCM: Final = "v1.2.1"
"""The version of OCM whose source was searched, which tests/hub/ocm/go.mod pins."""

UNREAD: Final[Mapping[str, str]] = {
    "scoreRateLimit": (
        "remove it; what holds moves back is a weight of the built-in Steady, or a larger publish.deadband of"
        " the scorer"
    ),
    "sortBy": "remove it; clusters are ranked by prioritizerPolicy alone",
    "spreadPolicy": "remove it; write one Placement for each topology to spread over",
}
"""Field of `spec`, and what to write instead. The CRD of the pinned OCM has the last one, the CRD of OCM's
main branch all three.
"""
