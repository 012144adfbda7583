# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: applications and their templates."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    PROD,
    SET,
    SHARED,
    Documents,
    add_on,
    below,
    both,
    case,
    cluster,
    named,
)
from tests.support.repositories import (
    APP,
    CONFIG,
    LABELS,
    app,
    application_set,
    listed,
    placement,
    policy,
)


def _sources() -> Iterator[tuple[str, Documents]]:
    for path in (
        "deploy",
        "./deploy/../base",
        "..a",
        "/deploy",
        "/",
        "../deploy",
        "deploy/../../base",
        "..",
    ):
        yield case(f"an application in {path}", apps=app("path: deploy", f"path: '{path}'"))
    git = (
        "ssh://git@git.example.com/web.git",
        "htps://git.example.com/web.git",
        "https//git.example.com/web.git",
        "git.example.com/web.git",
        "x://y",
        "git://git.example.com/web.git",
        "oci://registry.example.com/web",
        "oci://",
        "htps",
        "ext::sh -c id",
    )
    for url in git:
        yield case(f"an application from {url}", apps=app("https://git.example.com/web.git", url))
    for url in listed("""
        registry.example.com/charts | https://charts.example.com | http://charts.example.com
        htps://charts.example.com
    """):
        chart = app("https://git.example.com/web.git", url).replace(
            "path: deploy", "chart: web, targetRevision: 1.0.0"
        )
        yield case(f"a chart from {url}", apps=chart)
    unknown = app("[{scorer: cpu}]", "[{scorer: cpu}, {scorer: none}]") + "  stickiness: 100\n"
    yield case("stickiness beside a scorer that does not exist", apps=unknown)
    for clusters in (both(CLUSTER, cluster("edge-1", "env: edge")), CLUSTER):
        for name in ("defualt", "northern", "nroth", "north"):
            labelled = clusters.replace(
                "labels: {", f"labels: {{cluster.open-cluster-management.io/clusterset: {name}, "
            )
            title = f"{clusters.count('kind:')} clusters of the set {name}"
            yield case(title, clusters=labelled)
            for state, text in (("known", SET), ("broken", SET.replace("LabelSelector,", "X,"))):
                north = text.replace("name: edge", "name: north").split("spec:")
                spec = "spec: {}\n" if state == "known" else f"spec:{north[1]}"
                yield case(f"{title}, north is {state}", clusters=both(labelled, north[0] + spec))
    zone = both(CLUSTER, cluster("other", "zone: 'yes'"))
    for value in ("'yes'", "yes"):
        ranked = policy(add_on()).replace(
            "spec: {",
            f"spec: {{clusterSets: [global], predicates: [{{requiredClusterSelector: {{labelSelector: {{matchLabels: {{zone: {value}}}}}}}}}], ",
        )
        yield case(
            f"a Placement of the zone {value}",
            apps=ranked,
            scorers=below(f"clusterSelector: {PROD}"),
            clusters=zone,
        )


def _argocd_fields() -> Iterator[tuple[str, Documents]]:
    where = "path: deploy}"
    for text in listed("""
        path: ., helm: {valueFiles: values.yaml}} | path: ., helm: {value: a}}
        path: ., helm: {values: null}} | path: ., helm: {parameters: [{name: a, value: 3}]}}
        path: ., helm: {valueFiles: [null]}}
        path: ., helm: {valuesObject: {replicas: 3, nested: {list: [1, a], cluster: '{{.name}}'}}}}
        path: ., kustomize: {images: nginx=nginx:2}}
        path: ., directory: {recurse: always}} | path: ., directory: {jsonnet: {tla: [{name: a}]}}}
        path: ., plugin: {env: [{name: a}]}}
        path: ., chart: web, targetRevision: 1.0.0} | path: ., helm: {values: a}, kustomize: {}}
        path: 'a/{{.name'} | path: 'a/{{name}}'} | path: 'a/{{.Name}}'} | path: 'a/{{.score}}'}
        path: ., helm: {values: '{{ .Values.a }}'}} | path: ., helm: {valuesObject: {'{{ .x }}': a}}}
        path: ., targetRevision: '{{ repeat 9 .name }}'} | path: ., targetRevision: '{{ repeat 9999 .name }}'}
        path: '{{ repeat (len .name) `a` }}'} | path: '{{ randAlpha 5 }}'} | path: '{{ toJson .labels }}'}
        path: '{{ range until 3 }}a{{ end }}'} | path: '{{ lower (default `a` .reason) }}'}
        path: 'overlays/{{.name}}', targetRevision: '{{ if eq .name "a" }}v1{{ else }}main{{ end }}'}
        path: .}, syncPolicy: {automated: true} | path: .}, syncPolicy: {syncOptions: CreateNamespace=true}
    """):
        yield case(f"an application of {text}", apps=app(where, text))
    sources = "sources: [{repoURL: https://a/v.git, ref: values}, {repoURL: https://a/w.git, path: ., helm: {valueFiles: [$values/a.yaml, b.yaml]}}]"
    healthy = app('source: {repoURL: "https://git.example.com/web.git", path: deploy}', sources)
    for old, new in (
        ("", ""),
        ("$values/", "$value/"),
        ("path: .,", "path: ., ref: values,"),
        ("ref: values", "ref: a/b"),
    ):
        yield case(
            f"value files of another source, {new}",
            apps=healthy.replace(old, new) if old else healthy,
        )
    decisions = f"clusterDecisionResource: {{{CONFIG}, {LABELS}, values: {{tier: gold}}}}"
    go = application_set(
        f"{{{decisions}}}",
        "goTemplate: true, goTemplateOptions: [missingkey=error], syncPolicy: {applicationsSync: create-update}",
    )
    go = go.replace("metadata: {name: a}, spec", "metadata: {name: 'web-{{.name}}'}, spec")
    fast = go.replace(
        "goTemplate: true, goTemplateOptions: [missingkey=error]", "goTemplate: false"
    ).replace("{{.name}}", "{{name}}")
    for old, new in (
        ("applicationsSync: create-update", "applicationsSync: never"),
        ("syncPolicy:", "syncPolicys:"),
        ("goTemplate:", "goTemplat:"),
        ("values: {", "requeueAfterSeconds: '3', values: {"),
        ("values: {", "requeueAfter: 5, values: {"),
        ("missingkey=error", "missingkey=err"),
        ("destination: {name: a}", "destination: {cluster: a}"),
        ("web-{{.name}}", "web-{{.region}}"),
        ("web-{{.name}}", "web-{{.values.team}}"),
        ("web-{{.name}}", "web-{{.values.tier}}-{{ index .values `tier` }}"),
        ("path: a", "path: a, chart: web, targetRevision: 1.0.0"),
        (
            decisions,
            "matrix: {generators: [{list: {elements: [{x: '{{ repeat 9999999 `a` }}'}]}}, {clusters: {}}]}",
        ),
        (
            decisions,
            (
                "merge: {mergeKeys: [x], generators: [{clusters: {}}, {matrix: {generators:"
                " [{list: {elements: [{x: '{{ repeat 9999999 `a` }}'}]}}, {clusters: {}}]}}]}"
            ),
        ),
        (decisions, decisions.replace("values:", "template: {spec: {project: '{{.x}}'}}, values:")),
    ):
        yield case(
            f"an ApplicationSet in Go with {new}", apps=both(placement("{}"), go.replace(old, new))
        )
    for old, new in (
        ("web-{{name}}", "web-{{.name}}"),
        ("web-{{name}}", "web-{{ region }}"),
        ("path: a", "path: a, helm: {values: '{{ .Values.x }}'}"),
        ("path: a", "path: '{{.name}}'"),
    ):
        yield case(
            f"an ApplicationSet in fasttemplate with {new}",
            apps=both(placement("{}"), fast.replace(old, new)),
        )


def _labels_in_templates() -> Iterator[tuple[str, Documents]]:
    """Clusters with and without a label, and ways to read it."""
    where = "path: deploy}"
    claim = "status: {clusterClaims: [{name: zone, value: a}]}\n"
    fleet = both(
        cluster("east", "env: prod, region: us, example.com/tier: gold") + claim,
        cluster("west", "env: prod, region: eu") + claim,
        cluster("north", "env: test"),
        cluster("south", "env: test") + claim,
    )
    all_clusters, production = (
        "{numberOfClusters: 1}",
        "{clusterSelector: {matchLabels: {env: prod}}}",
    )
    for text in listed("""
        {{ .labels.region }} | {{ .claims.zone }} | {{ .labels.region |default "eu" }}
        {{ index .labels "example.com/tier" }} | {{ .labels.example.com/tier }}
        {{ index .labels "example.com/tier" |default .labels.region }}
        {{ .labels.regoin }} | {{ .labels.rack |default "eu" }} | {{ .metadata.labels.region }}
    """):
        reading = app(where, f"path: '{text}'}}")
        yield case(f"a template that reads {text} of every cluster", clusters=fleet, apps=reading)
        yield case(
            f"a template that reads {text} of some clusters",
            clusters=fleet,
            apps=reading.replace(all_clusters, production),
        )
    reading = app(where, "path: '{{ .labels.region }}'}")
    yield case("a template that reads labels of no cluster", clusters=SET, apps=reading)


def _names() -> Iterator[tuple[str, Documents]]:
    yield case(
        "a Placement of an application",
        apps=both(APP, placement("{}").replace("name: p", "name: web")),
    )
    yield case(
        "a Placement of an application elsewhere",
        apps=both(
            APP, placement("{}").replace("name: p, namespace: argocd", "name: web, namespace: web")
        ),
    )
    yield case(
        "a Placement of an application in the default namespace",
        apps=both(APP, placement("{}").replace("name: p, namespace: argocd", "name: web")),
    )
    yield case(
        "an ApplicationSet of an application",
        apps=both(APP, placement("{}"), named("web", "x-{{name}}")),
    )
    yield case(
        "a ScoredPlacement of an application",
        apps=both(APP, SHARED.replace("name: shared", "name: web")),
    )
    for size in (63, 64):
        name = "a" * size
        yield (
            f"an application of {size} characters",
            {"apps": app("{name: web}", f"{{name: {name}}}")},
        )
        yield case(
            f"a ScoredPlacement of {size} characters",
            apps=SHARED.replace("name: shared", f"name: {name}"),
        )


def _generated_names() -> Iterator[tuple[str, Documents]]:
    """Applications whose generated names meet, over eligible clusters."""
    two = both(cluster("eu-1"), cluster("'1'", "env: edge"))
    for first, other in (("web", "web-eu"), ("web-eu", "web"), ("web", "eu-web"), ("web", "shop")):
        apps = both(
            app("{name: web}", f"{{name: {first}}}"),
            app("{name: web}", f"{{name: {other}}}").replace("Namespace: web", "Namespace: b"),
        )
        yield f"{first} and {other} on eu-1 and 1", {"clusters": two, "apps": apps}
        edge = "{clusterSelector: {matchLabels: {env: edge}}, numberOfClusters: 1}"
        narrow = apps.replace("{numberOfClusters: 1}", edge)
        yield f"{first} and {other} on 1", {"clusters": two, "apps": narrow}
    for template in (
        "web-{{name}}",
        "web-eu-{{ .clusterName }}",
        "web-{{name}}{{name}}",
        "gitops-dsf-delivery",
    ):
        raw = named("other", template, "web")
        yield f"web, and a set of {template}", {"clusters": two, "apps": both(APP, raw)}
    for name, joined in (
        ("gitops-dsf", "delivery"),
        ("gitops-dsf-works", "00"),
        ("gitops-dsf", "eu-1"),
    ):
        apps = app("{name: web}", f"{{name: {name}}}")
        yield f"{name} on {joined}", {"clusters": cluster(f"'{joined}'"), "apps": apps}


def _same_objects() -> Iterator[tuple[str, Documents]]:
    """Two applications with one source."""
    again = app("{name: web}", "{name: again}")
    yield "two applications with the same objects", {"apps": both(APP, again)}
    yield (
        "two applications in two namespaces",
        {"apps": both(APP, again.replace("Namespace: web", "Namespace: b"))},
    )
