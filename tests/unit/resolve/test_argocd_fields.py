"""Fields, sources and templates that Argo CD would refuse or drop, at their places; and healthy ones."""

import pytest

from tests.unit.resolve.test_rules import CONFIG, LABELS, findings, placement

WEB = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: ScoredApplication
metadata: {name: web}
spec:
  application:
    source: {repoURL: https://git.example.com/web.git, path: deploy}
    destinationNamespace: web
  scores: [{scorer: cpu}]
  placement: {numberOfClusters: 1}
"""
SOURCE = "{repoURL: https://git.example.com/web.git, path: deploy}"
SET = f"""\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {{name: web, namespace: argocd}}
spec:
  goTemplate: true
  goTemplateOptions: [missingkey=error]
  syncPolicy: {{applicationsSync: create-update}}
  generators:
    - clusterDecisionResource: {{{CONFIG}, {LABELS}, values: {{tier: gold}}}}
  template:
    metadata: {{name: "web-{{{{.name}}}}"}}
    spec:
      project: default
      source: {SOURCE}
      destination: {{name: "{{{{.name}}}}", namespace: web}}
"""
FAST = SET.replace("goTemplate: true", "goTemplate: false").replace("{{.name}}", "{{name}}")
"""In the other language of templates."""


def told(text: str) -> list[tuple[str, int, int, str]]:
    """Code, line, column and hint of the findings."""
    files = f"{placement('{}')}---\n" if "ApplicationSet" in text else ""
    shift = files.count("\n")
    return [
        (item.code, item.position.line - shift, item.position.column, item.hint)
        for item in findings(apps=files + text)
        if item.severity.value == "error"
    ]


def web(new: str, old: str = "path: deploy}") -> str:
    assert old in WEB
    return WEB.replace(old, new)


def a_set(new: str, old: str) -> str:
    assert old in SET
    return SET.replace(old, new)


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        (web("path: ., helm: {valueFiles: «values.yaml}}"), "DSF321", "write [values.yaml]"),
        (web("path: ., helm: {«value: a}}"), "DSF013", "did you mean values?"),
        (web("path: ., helm: {parameters: [{name: a, value: «3}]}}"), "DSF321", 'quote it: "3"'),
        (web("path: ., helm: {valueFiles: [«null]}}"), "DSF321", ""),
        (web("path: ., kustomize: {images: «nginx=nginx:2}}"), "DSF321", "write [nginx=nginx:2]"),
        (web("path: ., directory: {recurse: «always}}"), "DSF321", ""),
        (web("path: ., directory: {jsonnet: {«tla: [{name: a}]}}}"), "DSF013", "did you mean tlas?"),
        (web("path: ., plugin: {env: [«{name: a}]}}"), "DSF014", "add value"),
        (
            web("path: deploy}\n    syncPolicy: {automated: «true}"),
            *("DSF321", "its fields are allowEmpty, enabled, prune, selfHeal"),
        ),
        (
            web("path: deploy}\n    syncPolicy: {syncOptions: «CreateNamespace=true}"),
            *("DSF321", "write [CreateNamespace=true]"),
        ),
        (web("«path: ., chart: web, targetRevision: 1.0.0}"), "DSF346", "remove path, or chart"),
        (web("path: ., helm: {values: a}, «kustomize: {}}"), "DSF346", "remove kustomize"),
        (web("path: 'a/«{{.name'}"), "DSF342", "write }} behind it"),
        (web("path: 'a/{{«name}}'}"), "DSF342", "write .name for a parameter"),
        (web("path: 'a/{{«.Name}}'}"), "DSF343", "did you mean .name?"),
        (web("path: 'a/{{«.score}}'}"), "DSF408", "leave the score out of the template"),
        (
            web("path: ., helm: {values: '{{ «.Values.a }}'}}"),
            *("DSF343", "for Helm, write {{`{{ .Values... }}`}}"),
        ),
        (web("path: ., helm: {valuesObject: {«'{{ .x }}': a}}}"), "DSF343", None),
        (web("path: ., targetRevision: '{{ «repeat 9 .name }}'}"), "DSF344", None),
        (web("path: deploy}\n    syncPolicy: {syncOptions: ['A={{ «.x }}']}"), "DSF343", None),
        (a_set("applicationsSync: «never", "applicationsSync: create-update"), "DSF321", ""),
        (a_set("«syncPolicys:", "syncPolicy:"), "DSF013", "did you mean syncPolicy?"),
        (a_set("requeueAfterSeconds: «'3', values:", "values:"), "DSF321", "remove the quotes"),
        (a_set("[«missingkey=err]", "[missingkey=error]"), "DSF342", "did you mean missingkey=error?"),
        (a_set("web-{{«.region}}", "web-{{.name}}"), "DSF343", None),
        (a_set("web-{{«.values.team}}", "web-{{.name}}"), "DSF343", "did you mean .values.tier?"),
        (a_set("path: '{{ «repeat 9 .name }}'", "path: deploy"), "DSF344", None),
        (a_set("chart: web, targetRevision: 1.0.0, «path: deploy", "path: deploy"), "DSF346", None),
        (FAST.replace("web-{{name}}", "web-«{{.name}}"), "DSF345", "write spec.goTemplate: true"),
        (FAST.replace("web-{{name}}", "web-«{{ region }}"), "DSF343", None),
        (
            a_set(
                "matrix: {generators: [{list: {elements: [{x: '{{ «repeat 9 `a` }}'}]}}, {clusters: {}}]}",
                f"clusterDecisionResource: {{{CONFIG}, {LABELS}, values: {{tier: gold}}}}",
            ),
            *("DSF344", None),
        ),
    ],
)
def test_what_argocd_would_refuse_is_told(text: str, code: str, hint: str | None) -> None:
    before, _, after = text.partition("«")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    [found] = told(before + after)
    assert found == (code, line, column, found[3] if hint is None else hint)


@pytest.mark.parametrize(
    "text",
    [
        WEB,
        web("path: ., helm: {values: null}}"),
        SET,
        web(
            "path: 'overlays/{{.name}}', targetRevision: '{{ if eq .name \"a\" }}v1{{ else }}main{{ end }}'}"
        ),
        web("path: ., helm: {valueFiles: [values.yaml], parameters: [{name: a, value: '3'}]}}"),
        web("path: ., helm: {valuesObject: {replicas: 3, nested: {list: [1, a], cluster: '{{.name}}'}}}}"),
        web("path: ., kustomize: {images: ['nginx=nginx:2'], replicas: [{name: a, count: 5}]}}"),
        web("path: ., directory: {recurse: true, jsonnet: {extVars: [{name: a, value: b, code: true}]}}}"),
        web("path: ., plugin: {name: cmp, parameters: [{name: a, string: b, array: [c], map: {d: e}}]}}"),
        web("path: deploy}\n    syncPolicy: {automated: {}, syncOptions: [A=b], retry: {limit: 3}}"),
        web("chart: web, targetRevision: 1.0.0, helm: {values: '{{`{{ .Release.Name }}`}}'}}"),
        a_set("web-{{.values.tier}}-{{ index .values `tier` }}", "web-{{.name}}"),
        a_set(
            "clusters: {selector: {matchLabels: {a: b}}}",
            f"clusterDecisionResource: {{{CONFIG}, {LABELS}, values: {{tier: gold}}}}",
        ).replace("web-{{.name}}", "web-{{.nameNormalized}}-{{.metadata.labels.region}}"),
        FAST.replace("web-{{name}}", "{{ name }}-{{clusterName}}-{{values.tier}}"),
        FAST.replace("path: deploy", "path: deploy, helm: {values: '{{ .Values.x }}'}"),
    ],
)
def test_a_healthy_application_has_no_error(text: str) -> None:
    assert told(text) == []


def test_value_files_of_another_source_are_looked_up() -> None:
    sources = (
        "sources: [{repoURL: https://git.example.com/v.git, ref: values}, {repoURL: https://git.example.com/w.git,"
        " path: ., helm: {valueFiles: [$values/a.yaml, b.yaml]}}]"
    )
    healthy = web(sources, f"source: {SOURCE}")
    assert told(healthy) == []
    assert [one[0] for one in told(healthy.replace("$values/", "$value/"))] == ["DSF347"]
    assert [one[0] for one in told(healthy.replace("path: .,", "path: ., ref: values,"))] == ["DSF346"]
    assert [one[0] for one in told(healthy.replace("ref: values", "ref: a/b"))] == ["DSF321", "DSF347"]
