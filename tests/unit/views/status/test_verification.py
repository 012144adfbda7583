"""Verified moves as people see them.

Moves that are verified, clusters that are held, and a fleet that stopped itself.
"""

from typing import Any

import msgspec
import pytest

from gitops_dsf.show.status.moves import queue_lines
from gitops_dsf.show.status.report import status_text
from gitops_dsf.views.status.build import Filter, Overview, build, document
from tests.support.hubobjects import (
    NOW,
    Object,
    check_of,
    cluster,
    decision,
    failing,
    move,
    paced,
    paced_moves,
    placement,
    score,
    scorer,
    verified,
)
from tests.support.overviews import inputs_of

SECONDS = NOW.timestamp()
STATE: Object = {"score": "slo/slo", "atLeast": 80}


def verifying(*checks: Object, since: float = 600, **more: Any) -> Object:
    """A move from eu-1 to us-1 whose new copy has been healthy for `since` seconds."""
    return move(
        "shop",
        "eu-1",
        "us-1",
        since=SECONDS - since - 60,
        phase="Verifying",
        phaseSince=SECONDS - since,
        verified=True,
        revision="r1",
        checks=list(checks),
        **more,
    )


def hub(
    *moves: Object,
    scores: tuple[Object, ...] = (),
    checks: tuple[Object, ...] = (check_of("slo"),),
    ledger: Object | None = None,
    **settings: Any,
) -> list[Object]:
    return [
        *(cluster(name) for name in ("eu-1", "us-1")),
        scorer("cpu"),
        scorer("slo"),
        *scores,
        verified(paced(placement("shop", "cpu")), *checks, **settings),
        decision("shop", "us-1"),
        paced_moves({"moves": list(moves), **(ledger or {})}, {}),
    ]


def view_of(objects: list[Object], **only: Any) -> Overview:
    return build(inputs_of(objects), Filter(**only))


def lines_of(objects: list[Object], **only: Any) -> list[str]:
    queue = view_of(objects, **only).queue
    return [] if queue is None else list(queue_lines(queue, everything=False))


def line_of(objects: list[Object]) -> str:
    (line,) = lines_of(objects)
    return line


UNTIL = ", until 2026-06-01T12:20:00Z"
"""Of a move whose new copy has been healthy for 10 of 30 minutes."""


@pytest.mark.parametrize(
    ("value", "state", "text"),
    [
        (84, {"heldSince": SECONDS - 290}, "84 of at least 80 for 4 of 10 min (slo)"),
        (84, {"heldSince": SECONDS - 9000}, "84 of at least 80 for 10 of 10 min (slo)"),
        (62, {"failingSince": SECONDS - 150}, "62 of at least 80, too low for 2 of 10 min (slo)"),
        (84, {}, "84 of at least 80 for 0 of 10 min (slo)"),
        (84, {"atLeast": None}, "84, and the score before the move is not known (slo)"),
        (70, {"atLeast": 68, "before": 78, "heldSince": SECONDS}, "70 of at least 68 for 0 of 10"),
    ],
)
def test_a_move_that_is_verified_says_what_is_measured(
    value: int, state: Object, text: str
) -> None:
    line = line_of(hub(verifying({**STATE, **state}), scores=(score("us-1", "slo", value),)))
    assert line.startswith(f"  argocd/shop: eu-1 -> us-1 verifying, {text}")
    assert line.endswith(UNTIL)


def test_seconds_that_are_not_whole_minutes_and_a_check_of_a_moment() -> None:
    checks = (check_of("slo", forSeconds=90), check_of("cpu", "web", forSeconds=0, atLeast=-5))
    states = ({**STATE, "heldSince": SECONDS - 40}, {"score": "cpu/web", "atLeast": -5})
    web = score("us-1", "cpu", -3)
    web["status"]["scores"][0]["name"] = "web"
    line = line_of(hub(verifying(*states), checks=checks, scores=(score("us-1", "slo", 84), web)))
    assert "84 of at least 80 for 40 of 90 s (slo); -3 of at least -5 (cpu/web)" in line


def test_a_score_that_does_not_count_yet_or_is_not_there_is_said_with_its_reason() -> None:
    """Nobody reads a number as the new copy's that is of the time before."""
    new = line_of(hub(verifying(STATE, since=30), scores=(score("us-1", "slo", 84),)))
    assert "verifying, measured from 2026-06-01T12:01:30Z (slo), until" in new
    missing = line_of(hub(verifying(STATE)))
    assert "verifying, no score that counts (slo), until" in missing
    dead = score("us-1", "slo", 84, age=899)
    assert "no score that counts" in line_of(hub(verifying(STATE), scores=(dead,)))
    told = failing(score("us-1", "slo", None), "QueryFailed", "parse error")
    line = line_of(hub(verifying(STATE), scores=(told,)))
    assert "verifying, no score: QueryFailed: parse error (slo), until" in line


def test_a_move_that_is_verified_longer_than_it_may_says_that_it_keeps_both_copies() -> None:
    line = line_of(hub(verifying(STATE, since=1800 + 900)))
    assert line.endswith(
        ", no score that counts (slo), for 15 min longer than verifySeconds; both copies stay"
        " (onUnknown: Hold)"
    )


def test_a_move_that_passed_and_one_that_goes_back() -> None:
    passed = verifying({**STATE, "last": 84}, passedAt=SECONDS, outcome="Completed")
    back = move(
        "shop",
        "us-1",
        "eu-1",
        since=SECONDS - 5,
        returning=True,
        cause={"kind": "Return", "detail": "slo 62 of at least 80"},
    )
    assert line_of(hub(passed)) == ("  argocd/shop: eu-1 -> us-1 verified, the old copy goes")
    assert line_of(hub(back)) == (
        "  argocd/shop: us-1 -> eu-1: goes back, Admitted since 2026-06-01T11:59:55Z, return: slo"
        " 62 of at least 80"
    )


def test_a_check_that_is_no_longer_written_is_not_judged() -> None:
    other = check_of("latency")
    line = line_of(hub(verifying(STATE), checks=(other,), scores=(score("us-1", "slo", 84),)))
    assert "no score that counts (slo)" in line


def failed(**more: Any) -> Object:
    """A move that failed and had nowhere to return to."""
    move_of_it = verifying({**STATE, "last": 62}, outcome="Failed")
    return {**move_of_it, "phase": "Ended", "phaseSince": SECONDS - 60, **more}


def test_an_application_that_does_worse_and_cannot_return_is_named_while_that_is_so() -> None:
    line = (
        "  argocd/shop does worse on us-1 since 2026-06-01T11:59:00Z, and has nowhere to return to"
    )
    assert line_of(hub(failed())) == f"{line}: slo 62 of at least 80"
    others = move("b", "c1", "c2", since=0, phase="Ended", phaseSince=SECONDS)
    assert line_of(hub(failed(), others)) == f"{line}: slo 62 of at least 80"
    unhealthy = failed(checks=[STATE], detail="us-1 has no healthy copy after 1800 s")
    assert line_of(hub(unhealthy)) == f"{line}: us-1 has no healthy copy after 1800 s"
    not_back = failed(returning=True, checks=[], **{"from": "us-1", "to": "eu-1"})
    assert line_of(hub(not_back)) == line
    later = move("shop", "us-1", "eu-1", since=SECONDS, phase="Ended", phaseSince=SECONDS)
    assert lines_of(hub(failed(), later)) == [], "it moved again"


def held(**more: Any) -> Object:
    return {
        "placement": "argocd/shop",
        "target": "us-1",
        "since": SECONDS - 3600,
        "until": SECONDS + 18_000,
        "detail": "slo 62 of at least 80",
        **more,
    }


def test_a_cluster_that_an_application_came_back_from_is_named_with_until_when_and_why() -> None:
    (line,) = lines_of(hub(ledger={"holds": [held()]}))
    assert line == (
        "  argocd/shop does not go to us-1 until 2026-06-01T17:00:00Z: it came back from there at"
        " 2026-06-01T11:00:00Z: slo 62 of at least 80"
    )
    (again,) = lines_of(hub(ledger={"holds": [held(returns=3, detail="")]}))
    assert again.endswith(" it came back from there at 2026-06-01T11:00:00Z, for the 3rd time")


def test_a_hold_that_is_over_or_of_others_is_not_shown() -> None:
    over = hub(ledger={"holds": [held(until=SECONDS - 1)]})
    assert lines_of(over) == []
    objects = hub(ledger={"holds": [held()]})
    assert lines_of(objects, cluster="eu-1") == []
    assert len(lines_of(objects, cluster="us-1")) == 1
    assert len(lines_of(objects, placement="shop")) == 1
    other = hub(ledger={"holds": [held(placement="argocd/other")]})
    assert lines_of(other, placement="shop") == []


def test_of_many_holds_some_are_listed() -> None:
    holds = [held(placement=f"argocd/app-{number:02}") for number in range(13)]
    lines = lines_of(hub(ledger={"holds": holds}))
    assert len(lines) == 11
    assert lines[-1] == "  and 3 more that are held; --placement or --all shows them"


STOP = (
    "MOVES STOPPED since 2026-06-01T11:50:00Z: 3 moves went back, so no paced move begins until"
    " somebody acknowledges it: spec.pace.acknowledgedStop: 2026-06-01T11:50:00Z in"
    " gitops-dsf.yaml, or kubectl -n gitops-dsf annotate --overwrite configmap"
    " gitops-dsf-moves gitops-dsf.io/acknowledged-stop=2026-06-01T11:50:00Z\n"
)
STOPPED = {"stoppedSince": SECONDS - 600, "returns": [SECONDS - 900, SECONDS - 700, SECONDS - 600]}


@pytest.mark.parametrize("only", [{}, {"placement": "shop"}, {"cluster": "eu-1"}])
def test_a_fleet_that_stopped_itself_says_so_first_with_what_lets_it_go_on(
    only: dict[str, str],
) -> None:
    """Whatever is asked for, because it holds everything."""
    text = status_text(view_of(hub(ledger=STOPPED), **only), everything=False)
    assert text.splitlines(keepends=True)[1] == STOP
    assert "Paced moves" not in text, "nothing else of them is to be said"


def test_a_fleet_that_did_not_stop_says_nothing_of_it() -> None:
    view = view_of(hub(ledger={"returns": STOPPED["returns"]}))
    assert "STOPPED" not in status_text(view, everything=True)
    assert not document(view).queue


def test_json_has_values_and_no_texts() -> None:
    ledger = {**STOPPED, "holds": [held()]}
    state = {**STATE, "heldSince": SECONDS - 290}
    objects = hub(verifying(state), scores=(score("us-1", "slo", 84),), ledger=ledger)
    queue = msgspec.json.decode(msgspec.json.encode(document(view_of(objects)).queue))
    assert queue["underWay"][0]["verification"] == {
        "passed": False,
        "until": "2026-06-01T12:20:00Z",
        "lateSeconds": 0,
        "onUnknown": "Hold",
        "checks": [
            {
                "score": "slo/slo",
                "value": 84,
                "atLeast": 80,
                "before": None,
                "forSeconds": 600,
                "heldSeconds": 290,
                "failingSeconds": None,
                "countsFrom": None,
                "why": None,
            }
        ],
    }
    assert queue["stopped"]["since"] == "2026-06-01T11:50:00Z"
    assert queue["stopped"]["field"] == "spec.pace.acknowledgedStop: 2026-06-01T11:50:00Z"
    assert queue["held"] == [
        {
            "placement": "argocd/shop",
            "cluster": "us-1",
            "since": "2026-06-01T11:00:00Z",
            "until": "2026-06-01T17:00:00Z",
            "returns": 1,
            "why": "slo 62 of at least 80",
        }
    ]


def test_a_move_that_nobody_verifies_is_shown_as_ever() -> None:
    plain = move("shop", "eu-1", "us-1", since=SECONDS - 60, phase="Handover", phaseSince=SECONDS)
    objects = [*hub()[:-3], paced(placement("shop", "cpu")), paced_moves({"moves": [plain]}, {})]
    assert line_of(objects) == ("  argocd/shop: eu-1 -> us-1: Handover since 2026-06-01T11:59:00Z")
    queue = msgspec.to_builtins(document(view_of(objects)).queue)
    assert queue["underWay"][0].keys() == {
        "placement", "from", "to", "phase", "since", "admitted", "cause"
    }  # fmt: skip
    assert queue.keys() == {"underWay", "waiting"}


def test_the_scorer_that_verifies_is_shown_with_the_application() -> None:
    """It need not rank anything."""
    view = view_of(hub(), placement="shop")
    assert [scorer.scorer.name for scorer in view.scorers] == ["cpu", "slo"]
    assert [item.placement for item in view_of(hub(), scorer="slo").placements] == ["argocd/shop"]
