"""Each reason for which a move waits is explained on one of the pages for operators."""

import re
from pathlib import Path

from gitops_dsf.hub.moves.reasons import MoveReason

PAGES = ("docs/operate/reconciler.md", "docs/decisions/paced-moves.md")
NO_WAIT = {"Healthy"}
"""The old copy goes at once: nothing waits."""


def test_each_reason_of_a_move_is_explained() -> None:
    explained: set[str] = set()
    for page in PAGES:
        for line in Path(page).read_text(encoding="utf-8").splitlines():
            if line.startswith("| "):
                explained.update(re.findall(r"[A-Z]\w+", line.split("|")[1]))
    reasons = {reason.value for reason in MoveReason}
    assert reasons - NO_WAIT - explained == set()


def test_alerts_leave_out_reasons_that_exist() -> None:
    rules = Path("monitoring/rules.yaml").read_text(encoding="utf-8")
    left_out = re.findall(r'moves_waiting\{reason!~\\"([^"\\]+)', rules)
    assert left_out
    reasons = {reason.value for reason in MoveReason}
    assert {reason for pattern in left_out for reason in pattern.split("|")} <= reasons
