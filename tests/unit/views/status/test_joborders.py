"""What `status` shows of the order in which Kueue offers jobs to clusters."""

import re

import msgspec
import pytest

from gitops_dsf.hub.multikueue import MultiKueueConfig
from gitops_dsf.show.status.document import status_json
from gitops_dsf.show.status.report import status_text
from gitops_dsf.views.status.build import build
from gitops_dsf.views.status.inputs import HubPart
from tests.support.hubobjects import Object, fleet
from tests.support.joborders import KEY, WRITTEN, config, ordering, page_of_jobs
from tests.support.overviews import inputs_of


def shown(*configs: MultiKueueConfig, unread: tuple[HubPart, ...] = ()) -> list[str]:
    """The lines about jobs."""
    overview = build(inputs_of(ordering(), unread=unread, multi_kueue_configs=configs))
    lines = status_text(overview, everything=True).splitlines()
    words = ("jobs of", "MultiKueueConfig", "last change of that order", "no place for")
    return [line.strip() for line in lines if line.strip().startswith(words)]


def test_the_list_is_shown_with_points_and_the_reason() -> None:
    """Also in JSON, and for no other Placement."""
    assert shown(config(WRITTEN)) == [
        "jobs of gpu-jobs go to cluster2 (81.5), then cluster1 (70), then cluster3",
        "last change of that order: cluster2 leads cluster1 by 11.5 points",
    ]
    overview = build(inputs_of(ordering(), multi_kueue_configs=(config(WRITTEN),)))
    placements = msgspec.json.decode(status_json(overview))["placements"]
    assert {item["placement"]: item.get("jobs") for item in placements} == {
        "argocd/guestbook": None,
        KEY: {
            "config": "gpu-jobs",
            "clusters": [
                {"cluster": "cluster2", "points": 81.5},
                {"cluster": "cluster1", "points": 70.0},
                {"cluster": "cluster3", "points": None},
            ],
            "leftOut": [],
            "reason": "cluster2 leads cluster1 by 11.5 points",
            "note": None,
        },
    }


@pytest.mark.parametrize(
    ("configs", "line"),
    [
        ((), "MultiKueueConfig gpu-jobs: the reconciler has not written it yet"),
        (
            (config(WRITTEN, labels={}),),
            (
                "MultiKueueConfig gpu-jobs: it belongs to another program, so its clusters are not"
                " ordered"
            ),
        ),
        (
            (config({**WRITTEN, "placement": "argocd/other"}),),
            "MultiKueueConfig gpu-jobs: it is ordered by Placement argocd/other",
        ),
        (
            (config(WRITTEN, ["cluster3"]),),
            (
                "MultiKueueConfig gpu-jobs: somebody else changed the list, and the reconciler will"
                " restore it"
            ),
        ),
        (
            (config({**WRITTEN, "leftOut": ["cluster8", "cluster9"]}),),
            "no place for cluster8, cluster9: Kueue takes 20 clusters",
        ),
    ],
    ids=["none", "of others", "of another Placement", "edited", "left out"],
)
def test_why_a_list_is_not_in_order(configs: tuple[MultiKueueConfig, ...], line: str) -> None:
    """Each in a line of its own."""
    assert line in shown(*configs)


def test_configs_that_may_not_be_read_are_not_taken_for_absent() -> None:
    """The part is named at the top, too."""
    assert shown(unread=(HubPart.MULTIKUEUE_CONFIGS,)) == [
        "MultiKueueConfig gpu-jobs: the MultiKueueConfigs could not be read"
    ]


def page(*configs: MultiKueueConfig, objects: list[Object] | None = None) -> str:
    """The section about jobs of that page, as text."""
    html = page_of_jobs(*configs, objects=objects)
    section = html.partition('<section id="jobs">')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]*>", " ", section).split())


def test_the_page_has_a_table_of_the_orders() -> None:
    """As text shows them, and only where jobs are ordered."""
    written = {**WRITTEN, "leftOut": ["cluster8", "cluster9"]}
    assert page(config(written)).endswith(
        "MultiKueueConfig Placement jobs go to no place for last change gpu-jobs"
        " kueue-system/gpu-jobs cluster2 (81.5), then cluster1 (70), then cluster3"
        " cluster8, cluster9 cluster2 leads cluster1 by 11.5 points"
    )
    assert page().endswith("gpu-jobs the reconciler has not written it yet kueue-system/gpu-jobs")
    assert page(objects=list(fleet())) == ""


def test_the_page_escapes_what_somebody_else_wrote() -> None:
    """Anybody who may edit the config may write its annotation."""
    text = page(config({**WRITTEN, "reason": "<script>run()</script>"}))
    assert "&lt;script&gt;run()&lt;/script&gt;" in text
