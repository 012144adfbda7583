"""URLs of repositories that git cannot fetch, or that hold a password."""

import pytest

from tests.support.repositories import APP, BASE, findings
from tests.unit.resolve.rules.handwritten import (
    BY_DECISION,
    DECISION,
    REFUSED,
    SOURCE,
    told,
    written,
)


@pytest.mark.parametrize(
    ("source", "template", "code", "line"),
    [
        ({**SOURCE, "repoURL": "C:\\fleet"}, {}, "DSF336", "repoURL: C:\\fleet"),
        ({**SOURCE, "repoURL": "C:/fleet"}, {}, "DSF336", "repoURL: C:/fleet"),
        (
            {**SOURCE, "repoURL": "[https://a/b](https://a/b)"},
            {},
            "DSF336",
            "repoURL: '[https://a/b](https://a/b)'",
        ),
        ({**SOURCE, "repoURL": "<https://a/b.git>"}, {}, "DSF336", "repoURL: <https://a/b.git>"),
        ({**SOURCE, "repoURL": "web"}, {}, "DSF336", "repoURL: web"),
        ({**SOURCE, "repoURL": "ext::sh -c id"}, {}, "DSF336", "repoURL: ext::sh -c id"),
        (
            {"repoURL": "C:\\charts", "chart": "web", "targetRevision": "1"},
            {},
            "DSF336",
            "repoURL: C:\\charts",
        ),
        (
            {**SOURCE, "repoURL": "https://github.com/acme/web/tree/main"},
            {},
            "DSF336",
            "repoURL: https://github.com/acme/web/tree/main",
        ),
        (
            {**SOURCE, "repoURL": "https://bot:hunter22@git.example.com/web.git"},
            {},
            "DSF104",
            "repoURL: https://bot:hunter22@git.example.com/web.git",
        ),
        ("none", {"sources": [SOURCE, {**SOURCE, "repoURL": "C:\\b"}]}, "DSF336", "repoURL: C:\\b"),
        (
            "none",
            {
                "sourceHydrator": {
                    "drySource": {**SOURCE, "repoURL": "C:\\dry", "targetRevision": "main"},
                    "syncSource": {"targetBranch": "env", "path": "a"},
                }
            },
            "DSF336",
            "repoURL: C:\\dry",
        ),
    ],
)
def test_urls_that_argocd_cannot_clone(
    source: object, template: object, code: str, line: str
) -> None:
    found = written(source=source, **template)  # type: ignore[arg-type]
    assert told((code, line), among=found)


@pytest.mark.parametrize(
    ("generator", "code", "line"),
    [
        (
            {"git": {"repoURL": "C:\\fleet", "revision": "HEAD", "directories": [{"path": "*"}]}},
            "DSF336",
            "repoURL: C:\\fleet",
        ),
        (
            {
                "clusterDecisionResource": {
                    **DECISION,
                    "template": {
                        "metadata": {},
                        "spec": {
                            "project": "",
                            "destination": {},
                            "source": {"repoURL": "C:\\own", "path": "../x"},
                        },
                    },
                }
            },
            "DSF336",
            "repoURL: C:\\own",
        ),
    ],
)
def test_urls_of_generators_and_of_their_templates(
    generator: dict[str, object], code: str, line: str
) -> None:
    for generators in ([generator], [{"matrix": {"generators": [BY_DECISION, generator]}}]):
        found = written(generators=generators)
        assert (code, line) in [item[:2] for item in found]


def test_a_scored_application_may_write_actions_into_its_url() -> None:
    labelled = BASE["clusters/c.yaml"]
    apps = APP.replace(
        '"https://git.example.com/web.git"', "'https://git.example.com/{{ .labels.env }}.git'"
    )
    assert [
        item.code for item in findings(apps=apps, clusters=labelled) if item.code in REFUSED
    ] == []
