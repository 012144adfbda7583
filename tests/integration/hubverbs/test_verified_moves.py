"""Verified moves as people see them: `status`, its page, `doctor` and `explain` of one hub."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.integration.hubverbs.conftest import Run, Serve
from tests.integration.preview.gitfleet import GitFleet, herd_app, herd_fleet, settings
from tests.integration.preview.gitfleet import scorer as written_scorer
from tests.support.hubobjects import (
    Object,
    binding,
    check_of,
    decision,
    failing,
    global_set,
    joined,
    move,
    paced,
    paced_moves,
    placement,
    score,
    scorer,
    stamp,
    verified,
)


@pytest.fixture
def now() -> datetime:
    """Not that of the import: a whole suite takes minutes."""
    return datetime.now(UTC)


def time_of(seconds: float) -> str:
    return stamp(datetime.fromtimestamp(int(seconds), UTC))


def verifying(name: str, now: datetime, *, since: float = 600.0, **state: object) -> Object:
    """A move from c1 to c2 whose new copy has been healthy for so many seconds."""
    check = {"score": "slo/slo", "atLeast": 80, **state}
    return move(
        name,
        "c1",
        "c2",
        since=now.timestamp() - since - 60,
        phase="Verifying",
        phaseSince=now.timestamp() - since,
        verified=True,
        revision="r1",
        checks=[check],
    )


def held(now: datetime, **more: object) -> dict[str, Any]:
    """A hold that began a minute ago."""
    return {
        "placement": "argocd/app-02",
        "target": "c3",
        "since": now.timestamp() - 60,
        "until": now.timestamp() + 21_540,
        "detail": "slo 62 of at least 80",
        **more,
    }


def stop(now: datetime) -> dict[str, Any]:
    """A fleet that stopped itself a minute ago."""
    seconds = now.timestamp()
    return {"stoppedSince": int(seconds) - 60, "returns": [seconds - 90, seconds - 60]}


def hub(now: datetime, *moves: Object, slo: Object | None = None, **ledger: object) -> list[Object]:
    """Three applications on c2 that are verified by slo, a scorer that ranks nothing."""
    names = ("app-00", "app-01", "app-02")
    return [
        *joined("c1", "c2", "c3"),
        global_set(),
        binding(),
        scorer("cpu"),
        scorer("slo"),
        *(score(name, "cpu", 50, now=now) for name in ("c1", "c2", "c3")),
        *(score(name, "slo", 84, now=now) for name in ("c1", "c3")),
        slo or score("c2", "slo", 84, now=now),
        *(verified(paced(placement(name, "cpu")), check_of("slo")) for name in names),
        *(decision(name, "c2") for name in names),
        paced_moves({"moves": list(moves), **ledger}, {}),
    ]


def test_status_says_what_is_measured_and_what_is_held(
    serve: Serve, run: Run, now: datetime
) -> None:
    """The value is that of the score now, and the time that of the ledger."""
    objects = hub(now, verifying("app-00", now, heldSince=now.timestamp() - 290), holds=[held(now)])
    text = run(serve(objects), "status").stdout
    line = r"\n  argocd/app-00: c1 -> c2 verifying, 84 of at least 80 for [45] of 10 min \(slo\), "
    assert re.search(f"{line}until 20", text), text
    assert (
        f"\n  argocd/app-02 does not go to c3 until {time_of(held(now)['until'])}: it came back"
        f" from there at {time_of(held(now)['since'])}: slo 62 of at least 80\n"
    ) in text
    assert "STOPPED" not in text


def test_a_verifier_is_read_also_for_one_application_alone(
    serve: Serve, run: Run, now: datetime
) -> None:
    """Its score ranks nothing, so OCM does not read it."""
    objects = hub(now, verifying("app-00", now, heldSince=now.timestamp() - 290))
    text = run(serve(objects), "status", "--placement", "app-00").stdout
    assert "verifying, 84 of at least 80" in text
    [shown] = json.loads(
        run(serve(objects), "status", "--placement", "app-00", "-o", "json").stdout
    )["queue"]["underWay"]
    assert shown["verification"]["checks"][0]["value"] == 84


def test_a_fleet_that_stopped_says_so_first_in_status_doctor_and_the_page(
    serve: Serve, run: Run, now: datetime
) -> None:
    since = time_of(stop(now)["stoppedSince"])
    annotation = f"gitops-dsf.io/acknowledged-stop={since}"
    server = serve(hub(now, **stop(now)))
    first, second, *_ = run(server, "status").stdout.splitlines()
    assert first.startswith("context hub at ")
    assert second == (
        f"MOVES STOPPED since {since}: 2 moves went back, so no paced move begins until somebody"
        f" acknowledges it: spec.pace.acknowledgedStop: {since} in gitops-dsf.yaml, or kubectl -n"
        f" gitops-dsf annotate --overwrite configmap gitops-dsf-moves {annotation}"
    )
    ran = run(server, "doctor", "-o", "json")
    assert ran.returncode == 1
    findings = json.loads(ran.stdout)["findings"]
    [found] = [finding for finding in findings if finding["check"] == "moves-stopped"]
    assert (found["state"], annotation in found["fix"]) == ("error", True)
    assert found["fix"].startswith("kubectl --kubeconfig ")
    page = run(server, "status", "-o", "html").stdout
    worst = page.partition('<ul class="worst"')[2].partition("</ul>")[0]
    assert re.search(
        r'<li class="error"><b>no paced move begins since', worst.partition("</li>")[0]
    )
    assert annotation in worst


def test_the_page_shows_checks_and_holds(serve: Serve, run: Run, now: datetime) -> None:
    objects = hub(
        now,
        verifying("app-00", now, failingSince=now.timestamp() - 130),
        slo=score("c2", "slo", 62, now=now),
        holds=[held(now, returns=2)],
    )
    page = run(serve(objects), "status", "-o", "html").stdout
    section = page.partition('<section id="moves">')[2].partition("</section>")[0]
    assert re.search(
        r"Verifying<small>verifying, 62 of at least 80, too low for [23] of 10 min \(slo\), until",
        section,
    )
    assert "<h3>Held</h3>" in section
    assert "2 times by now: slo 62 of at least 80" in section


def test_the_page_of_a_fleet_without_verified_moves_has_no_such_table(
    serve: Serve, run: Run, now: datetime
) -> None:
    plain = move("app-00", "c1", "c2", since=now.timestamp(), phaseSince=now.timestamp())
    page = run(serve(hub(now, plain)), "status", "-o", "html").stdout
    assert "<h3>Held</h3>" not in page
    assert ">Admitted</td>" in page


def test_doctor_says_why_a_move_cannot_be_decided(serve: Serve, run: Run, now: datetime) -> None:
    """In the words of the agent there, and not for each application again."""
    broken = failing(score("c2", "slo", None, now=now), "QueryFailed", "parse error", now=now)
    objects = hub(now, verifying("app-00", now, since=2700), slo=broken)
    found = json.loads(run(serve(objects), "doctor", "-o", "json").stdout)["findings"]
    messages = [item["message"] for item in found if item["check"] == "verified-moves"]
    until = time_of(now.timestamp() - 900)
    late, verifier = messages
    assert late == (
        f"argocd/app-00 keeps both copies: it should have been verified on c2 by {until}: slo has"
        " no score that counts: QueryFailed: parse error"
    )
    assert verifier == (
        "slo verifies moves and has no score that counts on 1 cluster where its applications run"
        " (c2): QueryFailed: parse error"
    )
    text = run(serve(objects), "status").stdout
    assert (
        "verifying, no score: QueryFailed: parse error (slo), for 15 min longer than verifySeconds;"
        " both copies stay (onUnknown: Hold)"
    ) in text


def written_fleet(folder: Path) -> GitFleet:
    """The herd in git: app-00 is verified by slo."""
    fleet = herd_fleet(folder, demand=2, stickiness=0)
    app = herd_app("app-00", demand=2, stickiness=0)
    app["spec"]["moves"] = {"verify": [{"scorer": "slo", "atLeast": 80, "forSeconds": 600}]}
    app["spec"]["moves"]["verifySeconds"] = 3600
    fleet.write("apps/guestbook.yaml", app)
    fleet.write("scorers/slo.yaml", written_scorer("slo"))
    fleet.write("gitops-dsf.yaml", settings(pace={"concurrent": 2}))
    fleet.commit("verify")
    return fleet


def test_explain_says_what_a_move_waits_for(
    serve: Serve, run: Run, now: datetime, tmp_path: Path
) -> None:
    """Verifying, held and stopped, each with what a person needs to know."""
    path = str(written_fleet(tmp_path / "fleet").path)
    server = serve(hub(now, verifying("app-00", now, heldSince=now.timestamp() - 290)))
    text = run(server, "explain", "app-00", path).stdout
    assert "\n  argocd/app-00: c1 -> c2 verifying, 84 of at least 80 for" in text
    stopped = serve(hub(now, **stop(now), holds=[held(now, placement="argocd/app-00")]))
    text = run(stopped, "explain", "app-00", path).stdout
    assert (
        f"\n  MOVES STOPPED since {time_of(stop(now)['stoppedSince'])}: 2 moves went back" in text
    )
    assert "\n  argocd/app-00 does not go to c3 until " in text
    queue = json.loads(run(stopped, "explain", "app-00", path, "-o", "json").stdout)["paced"][
        "queue"
    ]
    assert (queue["held"][0]["cluster"], queue["stopped"]["returns"]) == ("c3", 2)
