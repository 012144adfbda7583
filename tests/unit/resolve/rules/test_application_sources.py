"""Sources that Argo CD 3.6.1 could not use, and every published form that it takes."""

import pytest

from tests.unit.resolve.rules.handwritten import DECISION, SOURCE, told, written


@pytest.mark.parametrize(
    ("source", "template", "code", "line"),
    [
        ("none", {}, "DSF014", "spec:"),
        ("none", {"sources": []}, "DSF014", "sources: []"),
        ({"repoURL": SOURCE["repoURL"]}, {}, "DSF014", "source:"),
        ({"repoURL": "https://charts.example.com", "chart": "web"}, {}, "DSF014", "source:"),
        ({**SOURCE, "path": "/deploy"}, {}, "DSF335", "path: /deploy"),
        ({**SOURCE, "path": "../deploy"}, {}, "DSF335", "path: ../deploy"),
        ({**SOURCE, "path": "deploy\\eu"}, {}, "DSF335", "path: deploy\\eu"),
        (SOURCE, {"sources": [SOURCE]}, "DSF346", "source:"),
    ],
)
def test_sources_that_argocd_could_not_use(
    source: object, template: object, code: str, line: str
) -> None:
    found = written(source=source, **template)  # type: ignore[arg-type]
    assert told((code, line), among=found)


@pytest.mark.parametrize(
    "sources",
    [
        {"source": SOURCE},
        {"source": {**SOURCE, "path": "."}},
        {"source": {**SOURCE, "path": "./deploy/"}},
        {"source": {**SOURCE, "repoURL": "git@github.com:acme/web.git"}},
        {"source": {**SOURCE, "repoURL": "ssh://git@git.example.com:7999/acme/web.git"}},
        {"source": {**SOURCE, "repoURL": "git@ssh.dev.azure.com:v3/acme/platform/web"}},
        {"source": {**SOURCE, "repoURL": "https://acme@dev.azure.com/acme/platform/_git/web"}},
        {"source": {**SOURCE, "repoURL": "https://git.example.com/web"}},
        {"source": {**SOURCE, "repoURL": "http://gitea.gitea.svc:3000/acme/web.git"}},
        {"source": {**SOURCE, "repoURL": "file:///srv/git/web.git"}},
        {"source": {**SOURCE, "repoURL": "git://git.example.com/web.git"}},
        {"source": {"repoURL": "oci://ghcr.io/acme/web", "path": ".", "targetRevision": "1.0.0"}},
        {
            "source": {
                "repoURL": "https://charts.example.com",
                "chart": "web",
                "targetRevision": "1.x",
            }
        },
        {
            "source": {
                "repoURL": "registry-1.docker.io/bitnamicharts",
                "chart": "nginx",
                "targetRevision": "1",
            }
        },
        {"source": {"repoURL": "localhost:5000/charts", "chart": "nginx", "targetRevision": "1"}},
        {"source": {"repoURL": "{{.values.repo}}", "path": "deploy"}},
        {"source": {"repoURL": "https://git.example.com/{{ .name }}.git", "path": "{{ .name }}"}},
        {
            "source": {
                "repoURL": '{{ printf "https://x/\\"%s" .name }}',
                "path": '{{ printf "\\x41" }}',
            }
        },
        {
            "sources": [
                {
                    "repoURL": "https://charts.example.com",
                    "chart": "web",
                    "targetRevision": "1.2.3",
                },
                {"repoURL": "https://git.example.com/values.git", "ref": "values"},
                {**SOURCE, "path": "more"},
            ]
        },
        {
            "sourceHydrator": {
                "drySource": {**SOURCE, "targetRevision": "main"},
                "syncSource": {"targetBranch": "env", "path": "a"},
            }
        },
    ],
)
def test_published_forms_of_sources_pass(sources: dict[str, object]) -> None:
    source = sources.get("source", "none")
    rest = {name: value for name, value in sources.items() if name != "source"}
    generators = [
        {
            "clusterDecisionResource": {
                **DECISION,
                "values": {"repo": "https://git.example.com/a.git"},
            }
        }
    ]
    assert written(source=source, generators=generators, **rest) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("generators", "more"),
    [
        (None, {"templatePatch": "spec: {sources: [{repoURL: 'https://a/b.git', path: a}]}"}),
        (
            [
                {
                    "clusterDecisionResource": {
                        **DECISION,
                        "template": {
                            "metadata": {},
                            "spec": {"project": "", "destination": {}, "source": SOURCE},
                        },
                    }
                }
            ],
            None,
        ),
    ],
)
def test_a_source_may_come_from_a_patch_or_a_generator(generators: object, more: object) -> None:
    assert written(source="none", generators=generators, more=more) == []
