"""Which AppProject an application may name: never one of the platform's, never a templated one."""

import pytest

from gitops_dsf.diagnostics import Severity
from tests.support.repositories import (
    BASE,
    CONFIG,
    LABELS,
    app,
    application_set,
    findings,
    placement,
)

FOLLOWING = f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}}}}}"
NESTED = "{matrix: {generators: [{list: {elements: [{x: z}], TEMPLATE}}, {clusters: {}}]}}"
KEEPING = "syncPolicy: {applicationsSync: create-update}"
OURS = ("gitops-dsf", "gitops-dsf-works")


def projects(**documents: str) -> list[tuple[str, str, Severity]]:
    """The findings about projects: code, place and severity."""
    return [
        (item.code, str(item.position), item.severity)
        for item in findings(**documents)
        if item.code in {"DSF404", "DSF410"}
    ]


def follower(generator: str = FOLLOWING, rest: str = KEEPING) -> str:
    return f"{placement('{}')}---\n{application_set(generator, rest)}"


@pytest.mark.parametrize("project", OURS)
def test_a_scored_application_in_a_project_of_the_platform_is_an_error(project: str) -> None:
    text = app("destinationNamespace: web", f"destinationNamespace: web, project: {project}")
    assert projects(apps=text) == [("DSF410", "apps/x.yaml:5:121", Severity.ERROR)]


@pytest.mark.parametrize("project", OURS)
def test_an_application_set_in_a_project_of_the_platform_is_an_error(project: str) -> None:
    text = follower().replace("project: a", f"project: {project}")
    assert projects(apps=text) == [("DSF410", "apps/x.yaml:9:103", Severity.ERROR)]


@pytest.mark.parametrize("project", OURS)
@pytest.mark.parametrize(
    "patch",
    [
        "'spec: {project: PROJECT}'",
        '\'spec: {x: 1, "project" : "PROJECT"}\'',
        '\'{"spec":{"project":"PROJECT"}}\'',
        '"spec:\\n  project: PROJECT # ours\\n"',
        '"spec:\\n  project: >-\\n    PROJECT\\n"',
        "\"spec:\\n  'project': 'PROJECT'\\n  revisionHistoryLimit: {{ .values.kept }}\\n\"",
        '"spec:\\n  {{- if .values.x }}\\n  project: PROJECT\\n  {{- end }}\\n"',
    ],
)
def test_a_template_patch_with_a_project_of_the_platform_is_an_error(
    project: str, patch: str
) -> None:
    text = follower(rest=f"{KEEPING}, templatePatch: {patch.replace('PROJECT', project)}")
    found = projects(apps=text)
    assert [(code, severity) for code, _, severity in found] == [("DSF410", Severity.ERROR)]


@pytest.mark.parametrize("project", OURS)
@pytest.mark.parametrize(
    "generator",
    [
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}, TEMPLATE}}}}",
        "{list: {elements: [{name: a}], TEMPLATE}}",
        f"{{matrix: {{generators: [{FOLLOWING}, {{list: {{elements: [{{x: z}}], TEMPLATE}}}}]}}}}",
        f"{{merge: {{mergeKeys: [name], generators: [{FOLLOWING}, {NESTED}]}}}}",
        f"{{matrix: {{generators: [{FOLLOWING}, {{clusters: {{}}}}], TEMPLATE}}}}",
        "{plugin: {configMapRef: {name: a}, TEMPLATE}}",
    ],
)
def test_a_generator_s_own_template_with_a_project_of_the_platform_is_an_error(
    project: str, generator: str
) -> None:
    template = f"template: {{metadata: {{}}, spec: {{destination: {{}}, project: {project}}}}}"
    found = projects(apps=follower(generator.replace("TEMPLATE", template)))
    assert [(code, severity) for code, _, severity in found] == [("DSF410", Severity.ERROR)]


@pytest.mark.parametrize("name", ["fleet", "fleet-works"])
def test_the_projects_of_the_platform_are_those_that_the_settings_name(name: str) -> None:
    settings = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {argocd: {project: fleet}, ")
    text = app("destinationNamespace: web", f"destinationNamespace: web, project: {name}")
    assert projects(settings=settings, apps=text) == [
        ("DSF410", "apps/x.yaml:5:121", Severity.ERROR)
    ]


@pytest.mark.parametrize("project", ["default", "gitops-dsf-apps", "works", "gitops", "team-a"])
def test_any_other_project_is_allowed(project: str) -> None:
    own = f"template: {{metadata: {{}}, spec: {{destination: {{}}, project: {project}}}}}"
    patch = f"templatePatch: 'spec: {{project: {project}}}'"
    settings = BASE["gitops-dsf.yaml"].replace("spec: {", "spec: {argocd: {project: gitops-dsf}, ")
    text = app("destinationNamespace: web", f"destinationNamespace: web, project: {project}")
    set_ = follower(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}, {own}}}}}", f"{KEEPING}, {patch}"
    )
    assert projects(settings=settings, apps=text) == []
    assert projects(settings=settings, apps=set_.replace("project: a", f"project: {project}")) == []


@pytest.mark.parametrize(
    "text",
    [
        "source: {repoURL: https://git.example.com/gitops-dsf.git}",
        "info: [{name: project, value: gitops-dsf}]",
        (
            "source:"
            " {helm: {valuesObject: {project: gitops-dsf, nested: {project: gitops-dsf-works}}}}"
        ),
    ],
)
def test_the_name_of_a_project_elsewhere_is_no_error(text: str) -> None:
    """A project of a cloud, a repository or a label may have that name."""
    assert projects(apps=follower(rest=f"{KEEPING}, templatePatch: 'spec: {{{text}}}'")) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("project: a", "project: '{{project}}'"),
        ("project: a", "project: 'gitops-dsf{{suffix}}'"),
        ("project: a", "project: 'gitops-{{values.rest}}'"),
    ],
)
def test_a_templated_project_could_become_one_of_the_platform_and_is_an_error(
    old: str, new: str
) -> None:
    found = projects(apps=follower().replace(old, new))
    assert [(code, severity) for code, _, severity in found] == [("DSF404", Severity.ERROR)]


def test_every_place_is_reported() -> None:
    own = "template: {metadata: {}, spec: {destination: {}, project: gitops-dsf}}"
    text = follower(
        f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}, {own}}}}}",
        f"{KEEPING}, templatePatch: 'spec: {{project: gitops-dsf-works}}'",
    ).replace("project: a", "project: gitops-dsf")
    assert [code for code, _, _ in projects(apps=text)] == ["DSF410"] * 3


@pytest.mark.parametrize("by", ["template", "generator"])
def test_a_generator_s_own_template_may_name_the_namespace_of_the_platform_too(by: str) -> None:
    """It replaces that of the set."""
    own = "template: {metadata: {}, spec: {project: a, destination: {namespace: kube-system}}}"
    text = follower(f"{{clusterDecisionResource: {{{CONFIG}, {LABELS}, {own}}}}}")
    if by == "template":
        text = follower().replace(
            "destination: {name: a}", "destination: {name: a, namespace: kube-system}"
        )
    assert [item.code for item in findings(apps=text) if item.code == "DSF341"] == ["DSF341"]
