"""What Argo CD 3.6.1 refuses is told of ApplicationSets that are written by hand, too: names,
destinations, generators, sources, URLs and paths. Every published form that Argo CD takes passes.
"""

import json

import pytest
import yaml

from gitops_dsf.diagnostics import Diagnostic
from tests.support.repositories import APP, BASE, findings

REFUSED = (
    "DSF014",
    "DSF016",
    "DSF104",
    "DSF335",
    "DSF336",
    "DSF346",
    "DSF347",
    "DSF411",
    "DSF412",
    "DSF413",
)
"""Codes of what Argo CD would refuse, or could not use."""
DECISION = {
    "configMapRef": "gitops-dsf-placement-decisions",
    "labelSelector": {"matchLabels": {"cluster.open-cluster-management.io/placement": "p"}},
}
BY_DECISION = {"clusterDecisionResource": DECISION}
SOURCE = {"repoURL": "https://git.example.com/web.git", "path": "deploy"}
CLUSTERS = "---\n".join(
    (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"
        f" {{name: {name}}}\n"
    )
    for name in ("berlin", "oslo", "paris")
)


def placement(spec: str = "{clusterSets: [global]}") -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1beta1\nkind: Placement\n"
        f"metadata: {{name: p, namespace: argocd}}\nspec: {spec}\n"
    )


def written(
    *,
    name: str = "web-{{.name}}",
    destination: object = None,
    source: object = None,
    generators: object = None,
    more: object = None,
    placed: str | None = None,
    **template: object,
) -> list[tuple[str, str, str]]:
    """Code, text at the place, and message of what Argo CD would refuse in a set of three
    clusters.
    """
    spec = {
        "goTemplate": True,
        "generators": [BY_DECISION] if generators is None else generators,
        "syncPolicy": {"applicationsSync": "create-update"},
        "template": {
            "metadata": {"name": name},
            "spec": {
                "project": "default",
                "destination": {"name": "{{.name}}", "namespace": "web"}
                if destination is None
                else destination,
                **(
                    {"source": SOURCE}
                    if source is None
                    else {}
                    if source == "none"
                    else {"source": source}
                ),
                **template,
            },
        },
        **(more or {}),  # type: ignore[dict-item]
    }
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "web"},
        "spec": spec,
    }
    text = yaml.safe_dump(json.loads(json.dumps(document)), sort_keys=False, width=500)
    apps = text + "---\n" + (placement() if placed is None else placed)
    return [
        (
            item.code,
            text.splitlines()[item.position.line - 1].strip().removeprefix("- "),
            item.message,
        )
        for item in findings(apps=apps, clusters=CLUSTERS)
        if item.code in REFUSED
    ]


def set_named(name: str) -> str:
    template = {
        "metadata": {"name": name},
        "spec": {"project": "default", "destination": {"name": "{{name}}"}, "source": SOURCE},
    }
    document = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "web"},
        "spec": {
            "generators": [BY_DECISION],
            "syncPolicy": {"applicationsSync": "create-update"},
            "template": template,
        },
    }
    return yaml.safe_dump(document) + "---\n"


def told_of(*, apps: str, clusters: str = CLUSTERS) -> list[Diagnostic]:
    return [item for item in findings(apps=apps, clusters=clusters) if item.code in REFUSED]


def told(*codes_and_lines: tuple[str, str], among: list[tuple[str, str, str]]) -> bool:
    return [(code, line) for code, line, _ in among] == list(codes_and_lines)


@pytest.mark.parametrize(
    "generators",
    [
        [BY_DECISION],
        [{"list": {"elements": [{"a": "1"}, {"a": "2"}]}}],
        [{"matrix": {"generators": [BY_DECISION, {"list": {"elements": [{"a": "1"}]}}]}}],
        [
            {
                "merge": {
                    "mergeKeys": ["name"],
                    "generators": [BY_DECISION, {"list": {"elements": []}}],
                }
            }
        ],
    ],
)
def test_one_name_for_several_applications(generators: object) -> None:
    found = written(name="web", destination={"name": "berlin"}, generators=generators)
    assert told(("DSF411", "name: web"), among=found)


def test_the_message_says_how_many() -> None:
    [(_, _, message)] = written(name="web")
    assert message == (
        "web may generate 3 Applications, all named web: Argo CD creates none of them"
        " (duplicate name)"
    )


def test_without_sets_the_number_of_clusters_is_a_guess() -> None:
    spec = placement("{}")
    assert [item.severity.name for item in told_of(apps=set_named("web") + spec)] == ["WARNING"]
    assert told_of(apps=set_named("web") + spec, clusters=CLUSTERS.split("---")[0]) == []


def test_a_value_that_is_the_same_for_every_cluster_is_no_name() -> None:
    generators = [{"clusterDecisionResource": {**DECISION, "values": {"team": "blue"}}}]
    assert told(
        ("DSF411", "name: web-{{.values.team}}"),
        among=written(name="web-{{.values.team}}", generators=generators),
    )


def test_two_generators_whose_applications_have_one_name() -> None:
    one = {"list": {"elements": [{"a": "1"}]}}
    assert told(("DSF411", "name: web"), among=written(name="web", generators=[one, one]))


@pytest.mark.parametrize(
    ("name", "generators", "placed", "more"),
    [
        ("web-{{.name}}", None, None, None),
        ("web", None, placement("{clusterSets: [global], numberOfClusters: 1}"), None),
        ("web", None, placement("{clusterSets: [other]}"), None),
        ("web", [{"list": {"elements": [{"a": "1"}]}}], None, None),
        ("{{.a}}", [{"list": {"elements": [{"a": "1"}, {"a": "2"}]}}], None, None),
        (
            "web",
            [
                {
                    "git": {
                        "repoURL": SOURCE["repoURL"],
                        "revision": "HEAD",
                        "directories": [{"path": "*"}],
                    }
                }
            ],
            None,
            None,
        ),
        ("web", None, None, {"templatePatch": "metadata: {name: 'web-{{.name}}'}"}),
        (
            "web-{{.values.c}}",
            [{"clusterDecisionResource": {**DECISION, "values": {"c": "{{.name}}"}}}],
            None,
            None,
        ),
        (
            "web",
            [{**BY_DECISION, "selector": {"matchLabels": {"name": "berlin"}}}],
            None,
            None,
        ),
        (
            "web",
            [
                {
                    "clusterDecisionResource": {
                        **DECISION,
                        "template": {
                            "metadata": {"name": "web-{{.name}}"},
                            "spec": {"project": "default", "destination": {}},
                        },
                    }
                }
            ],
            None,
            None,
        ),
    ],
)
def test_names_that_differ_or_are_needed_once_pass(
    name: str, generators: object, placed: str | None, more: object
) -> None:
    found = written(name=name, generators=generators, placed=placed, more=more)
    assert [item for item in found if item[0] == "DSF411"] == []


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


@pytest.mark.parametrize(
    ("generators", "line"),
    [([], "generators: []"), ([{}], "{}"), ([{"selector": {}}], "selector: {}")],
)
def test_a_set_without_generators_generates_nothing(generators: object, line: str) -> None:
    assert told(("DSF413", line), among=written(generators=generators))


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
        (SOURCE, {"sources": [SOURCE]}, "DSF346", "source:"),
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
def test_sources_that_argocd_could_not_use(
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


@pytest.mark.parametrize(
    "generators",
    [
        [{"clusters": {}}],
        [
            {
                "git": {
                    "repoURL": "git@github.com:acme/web.git",
                    "revision": "HEAD",
                    "files": [{"path": "**/config.json"}],
                }
            }
        ],
        [{"scmProvider": {"github": {"organization": "acme"}}}],
        [{"pullRequest": {"github": {"owner": "acme", "repo": "web"}}}],
        [{"plugin": {"configMapRef": {"name": "p"}}}],
        [{"matrix": {"generators": [{"clusters": {}}, {"list": {"elements": []}}]}}],
        [{"merge": {"mergeKeys": ["server"], "generators": [BY_DECISION, {"clusters": {}}]}}],
    ],
)
def test_every_generator_of_argocd_passes(generators: object) -> None:
    assert written(generators=generators) == []


@pytest.mark.parametrize(
    ("url", "codes"),
    [
        ("C:\\fleet", ["DSF016"]),
        ("C:/fleet", ["DSF016"]),
        ("[https://a/b](https://a/b)", ["DSF016"]),
        ("git@host:team\\fleet.git", ["DSF016"]),
        ("ssh://git@git.example.com:7999/team/fleet.git", []),
        ("git@ssh.dev.azure.com:v3/acme/platform/fleet", []),
        ("https://acme@dev.azure.com/acme/platform/_git/fleet", []),
        ("host.xz:path/to/repo.git", []),
        ("/srv/git/fleet.git", []),
    ],
)
def test_the_url_of_the_fleet_is_one_that_git_fetches(url: str, codes: list[str]) -> None:
    settings = BASE["gitops-dsf.yaml"].replace('"https://git.example.com/fleet.git"', f"'{url}'")
    assert [item.code for item in findings(settings=settings) if item.code in REFUSED] == codes


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("../x", ["DSF335"]),
        ("fleets/../../x", ["DSF335"]),
        ("fleets\\eu", ["DSF335"]),
        ("/fleets/eu", ["DSF335"]),
        ("C:/fleets", ["DSF335"]),
        ("", []),
        (".", []),
        ("fleets/eu", []),
        ("fleets/eu/", []),
        ("./fleets/eu", []),
        ("fleets/..eu", []),
    ],
)
def test_the_folder_of_the_fleet_is_inside_of_the_repository(path: str, codes: list[str]) -> None:
    settings = BASE["gitops-dsf.yaml"].replace('fleet.git"}', f"fleet.git\", path: '{path}'}}")
    assert [item.code for item in findings(settings=settings) if item.code in REFUSED] == codes


def test_a_scored_application_may_write_actions_into_its_url() -> None:
    labelled = BASE["clusters/c.yaml"]
    apps = APP.replace(
        '"https://git.example.com/web.git"', "'https://git.example.com/{{ .labels.env }}.git'"
    )
    assert [
        item.code for item in findings(apps=apps, clusters=labelled) if item.code in REFUSED
    ] == []
