"""Destinations that Argo CD 3.6.1 refuses: with a name and a server, or without either."""

import pytest

from tests.unit.resolve.rules.handwritten import DECISION, told, written


@pytest.mark.parametrize(
    ("destination", "line"),
    [
        (
            {"name": "berlin", "server": "https://kubernetes.default.svc"},
            "server: https://kubernetes.default.svc",
        ),
        ({"name": "{{.name}}", "server": "{{.server}}"}, "server: '{{.server}}'"),
        ({"namespace": "web"}, "destination:"),
        ({"name": "", "server": ""}, "destination:"),
    ],
)
def test_a_destination_has_a_name_or_a_server(destination: object, line: str) -> None:
    assert told(("DSF412", line), among=written(destination=destination))


@pytest.mark.parametrize(
    ("destination", "generators", "more"),
    [
        ({"server": "https://kubernetes.default.svc"}, None, None),
        ({"name": "in-cluster"}, None, None),
        ({"name": "{{.name}}", "server": ""}, None, None),
        (
            {
                "name": '{{ if eq .name "a" }}b{{ end }}',
                "server": '{{ if ne .name "a" }}{{ .server }}{{ end }}',
            },
            None,
            None,
        ),
        (
            {"name": "{{.c}}", "server": "{{.url}}"},
            [{"list": {"elements": [{"c": "a", "url": ""}, {"c": "", "url": "https://b"}]}}],
            None,
        ),
        ({"namespace": "web"}, None, {"templatePatch": "spec: {destination: {name: '{{.name}}'}}"}),
        (
            {"namespace": "web"},
            [
                {
                    "clusterDecisionResource": {
                        **DECISION,
                        "template": {
                            "metadata": {},
                            "spec": {"project": "", "destination": {"name": "{{.name}}"}},
                        },
                    }
                }
            ],
            None,
        ),
    ],
)
def test_one_of_both_passes(destination: object, generators: object, more: object) -> None:
    found = written(destination=destination, generators=generators, more=more)
    assert [item for item in found if item[0] == "DSF412"] == []
