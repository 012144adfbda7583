"""Two applications that deploy the same objects into one namespace."""

import pytest

from tests.support.repositories import (
    APP,
    BASE,
    CONFIG,
    LABELS,
    app,
    application_set,
    findings_of,
)

CLUSTER = BASE["clusters/c.yaml"]
TWO = f"{CLUSTER}---\n{CLUSTER.replace('prod-1', 'edge-1').replace('env: prod', 'env: edge')}"


SECOND = app("{name: web}", "{name: shop}")


@pytest.mark.parametrize(
    ("second", "counts"),
    [
        (SECOND, 1),
        (SECOND.replace("destinationNamespace: web", "destinationNamespace: shop"), 0),
        (SECOND.replace("path: deploy", "path: shop"), 0),
        (SECOND.replace("path: deploy", "path: deploy, targetRevision: next"), 0),
        (
            SECOND.replace(
                "{numberOfClusters: 1}", "{clusterSelector: {matchLabels: {env: edge}}}"
            ),
            0,
        ),
    ],
)
def test_two_applications_with_the_same_objects(second: str, counts: int) -> None:
    first = app(
        "{numberOfClusters: 1}",
        "{numberOfClusters: 1, clusterSelector: {matchLabels: {env: prod}}}",
    )
    found = findings_of("DSF365", clusters=TWO, apps=f"{first}---\n{second}")
    assert len(found) == counts
    for item in found:
        assert str(item.severity) == "warning"
        assert (
            "web and shop (apps/x.yaml:11:18) deploy the same source into the namespace web"
            in item.message
        )
        assert "such as prod-1" in item.message


def test_the_order_of_files_does_not_decide_which_application_is_reported() -> None:
    first, second = (
        findings_of("DSF365", apps=f"{one}---\n{other}")
        for one, other in ((APP, SECOND), (SECOND, APP))
    )
    starts = {item.message.partition(" (")[0] for item in (*first, *second)}
    assert starts == {"web and shop"}
    assert (len(first), len(second)) == (1, 1)


def test_a_copied_set_with_the_objects_of_an_application() -> None:
    raw = application_set(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS.replace(': p}', ': web}')}}}}}"
    )
    raw = raw.replace("{metadata: {name: a}", "{metadata: {name: 'b-{{name}}'}")
    raw = raw.replace("destination: {name: a}", "destination: {name: a, namespace: web}")
    raw = raw.replace(
        "{repoURL: 'https://git.example.com/a.git', path: a}",
        '{repoURL: "https://git.example.com/web.git", path: deploy}',
    )
    assert len(findings_of("DSF365", apps=f"{APP}---\n{raw}")) == 1
    assert (
        findings_of("DSF365", apps=f"{APP}---\n{raw.replace('namespace: web', 'namespace: other')}")
        == []
    )
