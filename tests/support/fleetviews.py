"""A fleet with something of everything, as the page of a fleet shows it: no hub is asked."""

import random
from collections.abc import Sequence
from datetime import timedelta
from itertools import count, cycle, islice

from msgspec import structs

from dsf_wire.scorename import sanitise
from gitops_dsf.hub.moves.causes import MoveCause
from gitops_dsf.journal.record import Record, new_record
from gitops_dsf.show.pages.fleet import Past, ShownFleet
from gitops_dsf.show.pages.sourceplace import SourcePlace
from gitops_dsf.views.doctor.finding import DoctorFinding, State
from gitops_dsf.views.status.build import build
from tests.support.hubobjects import (
    NOW,
    Object,
    application,
    application_set,
    binding,
    cluster,
    decision,
    drained,
    failing,
    global_set,
    joined,
    masks,
    move,
    moves_score,
    paced_moves,
    score,
    scorer,
    with_refuges,
)
from tests.support.overviews import inputs_of

REGIONS = ("eu-west", "us-east", "ap-south")
SCORERS = ("cpu-headroom", "gpu-free", "carbon", "egress-cost", "p99-latency", "spot-price")
APPLICATIONS = ("portal", "shop", "search", "billing", "reports", "batch", "video", "mail")
DAYS = 7


def names(known: Sequence[str], stem: str, number: int) -> list[str]:
    """So many names: the known ones first."""
    numbered = (f"{stem}-{index:03}" for index in count())
    return [*known[:number], *islice(numbered, max(0, number - len(known)))]


def fleet_view(
    *, clusters: int = 12, scorers: int = 6, applications: int = 8, text: str = ""
) -> ShownFleet:
    """A fleet of this size. `text` is put into every field that people or programs write."""
    rng = random.Random(1)
    regions = cycle(REGIONS)
    cluster_names = [f"{next(regions)}-{number}{text}" for number in range(clusters)]
    scorer_names = [f"{name}{text}" for name in names(SCORERS, "scorer", scorers)]
    # `namespace/name` has one slash, as the API server sees to it.
    tail = text.replace("/", "")
    application_names = [f"{name}{tail}" for name in names(APPLICATIONS, "app", applications)]
    objects = [
        *joined(*cluster_names[1:]),
        _lost(cluster_names[0]),
        global_set(),
        binding(),
        masks({"clusterName": cluster_names[-1], "scoreName": scorer_names[0]}),
    ]
    for number, name in enumerate(scorer_names):
        # The API of one scorer does not answer, so half of its scores are missing.
        fails = number == 3
        objects.append(scorer(name, health="Inactive" if fails else "Active"))
        for index, where in enumerate(cluster_names):
            if not (fails and index % 2):
                age = 1500 if rng.random() < 0.02 else rng.randint(5, 400)
                item = score(where, sanitise(name), rng.randint(0, 100), age=age)
                # A query is wrong on two clusters, and the last scores still count.
                if number == 1 and index in {4, 5}:
                    item = failing(item, "QueryFailed", f"parse error at char 12{text}")
                objects.append(item)
    for number, name in enumerate(application_names):
        objects += _application(
            name, number, rng.choice(cluster_names[1:]), sanitise(rng.choice(scorer_names)), text
        )
    objects.append(moves_score(cluster_names[2], **{application_names[-1]: 50}))
    objects.append(_moves(application_names, cluster_names, text))
    findings = _findings(cluster_names, scorer_names, text)
    place = SourcePlace(
        f"apps/portal{text}.yaml:4", "https://github.com/acme/fleet/blob/4f2c/apps/portal.yaml#L4"
    )
    return ShownFleet(
        overview=build(inputs_of(objects)),
        findings=findings,
        sources={
            ("ScoredApplication", application_names[0]): place,
            ("DynamicScorer", scorer_names[0]): SourcePlace(f"scorers/cpu{text}.yaml:4", ""),
        },
        sources_note=f"Names link to commit 4f2c4f2c4f{text}.",
        past=Past(
            records=_records(application_names, cluster_names, text),
            start=(NOW - timedelta(days=DAYS)).timestamp(),
            note=f"The last {DAYS} days{text}.",
        ),
    )


def _lost(name: str) -> Object:
    """A cluster whose agent does not renew its lease."""
    item = cluster(name)
    (available,) = [
        condition
        for condition in item["status"]["conditions"]
        if condition["type"] == "ManagedClusterConditionAvailable"
    ]
    available["status"] = "Unknown"
    return item


def _application(name: str, number: int, where: str, scorer_name: str, text: str) -> list[Object]:
    return [
        with_refuges(name, scorer_name),
        decision(name, where),
        application_set(name, error=f"no entry for key labels{text}" if number == 2 else ""),
        application(name, where, health="Progressing" if number == 1 else "Healthy"),
    ]


def _moves(applications: Sequence[str], clusters: Sequence[str], text: str) -> Object:
    """A move under way, one that waits, and a cluster that is drained."""
    since = NOW.timestamp() - 600
    under_way = move(applications[0], clusters[1], clusters[2], since=since, phaseSince=since)
    waiting = move(
        applications[1],
        clusters[2],
        clusters[1],
        since=since,
        points=20.0,
        reason="Arrivals",
        message=f"{clusters[1]} receives 1 already{text}",
    )
    drain = drained(clusters[3], until=NOW.timestamp() + 3600, maintenance=f"patch{text}", count=1)
    return paced_moves(
        {"moves": [under_way]}, {"waiting": [waiting]}, {"drains": [drain], "windows": []}
    )


def _findings(
    clusters: Sequence[str], scorers: Sequence[str], text: str
) -> tuple[DoctorFinding, ...]:
    return (
        DoctorFinding(
            check="scorers",
            state=State.WARNING,
            message=f"the scoring API of {scorers[-1]} does not answer: Timeout{text}",
            fix=f"kubectl -n hub describe dynamicscorer {scorers[-1]}",
        ),
        DoctorFinding(
            check="ocm-clusters",
            state=State.ERROR,
            message=f"OCM does not reach {clusters[0]}; an application is decided for it",
            fix=f"kubectl --context hub describe managedcluster {clusters[0]}",
        ),
        DoctorFinding(
            check="scores-fresh",
            state=State.WARNING,
            message=f"{clusters[1]}: expired: {scorers[0]}, and counts as 0",
            fix="kubectl --context x logs deployment/gitops-dsf-agent",
        ),
        DoctorFinding(
            check="cluster-secrets",
            state=State.UNKNOWN,
            message=f"Does Argo CD know the clusters?{text}",
            fix=None,
        ),
        DoctorFinding(check="clock", state=State.OK, message="the clocks agree", fix=None),
    )


def _records(applications: Sequence[str], clusters: Sequence[str], text: str) -> list[Record]:
    """Every second application moved some times in the last days."""
    rng = random.Random(2)
    records: list[Record] = []
    for name in applications[::2]:
        time = NOW - timedelta(days=DAYS + 1)
        before = None
        for number in range(1, 6):
            after = [rng.choice(clusters[:8])]
            record = new_record(
                placement=f"argocd/{name}",
                number=number,
                time=time,
                kind="Start" if number == 1 else "Change",
                before=before,
                after=after,
                uid="u",
            )
            cause = MoveCause("Score", f"cpu of {after[0]} 57 -> 20{text}")
            records.append(structs.replace(record, cause=cause, commit="4f2c" * 10))
            before = after
            time += timedelta(hours=rng.randint(5, 60))
    return records
