"""The edits that people make to the fleet of the demo."""

from typing import Final

from demo.fleet import FleetClone
from demo.stage import QUERY_SCORER, SCORERS

APPLICATION: Final = "guestbook"
APPLICATION_FILE: Final = "apps/guestbook.yaml"
SCORER_FILE: Final = "scorers/vcpu-cost.yaml"


def rank_by_scoring_apis(fleet: FleetClone) -> None:
    """Ranks the application by the forecast and the prices, in place of the query."""
    ranked = "".join(f"    - scorer: {name}\n" for name in SCORERS)
    fleet.edit(APPLICATION_FILE, f"    - scorer: {QUERY_SCORER}\n", ranked)
    # A mean of two scores differs less than one score: after the peak of the load, another cluster
    # leads by fewer than 20 points, which would hold the application.
    fleet.edit(APPLICATION_FILE, "stickiness: 20 ", "stickiness: 15 ")


def write_scale_wrong(fleet: FleetClone) -> None:
    """Narrows the scale of the prices, with its ends exchanged."""
    fleet.edit(SCORER_FILE, "    min: 0\n    max: 20\n", "    min: 7\n    max: 3\n")


def write_scale_right(fleet: FleetClone) -> None:
    """Puts the ends of the narrow scale right."""
    fleet.edit(SCORER_FILE, "    min: 7\n    max: 3\n", "    min: 3\n    max: 7\n")
    # The comment of the scale would not be true any more.
    fleet.edit(
        SCORER_FILE,
        "free becomes 100, 20 cents become 1",
        "3 cents become 100, 7 cents become 1",
    )
