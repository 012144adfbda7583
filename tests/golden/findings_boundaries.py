# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: settings, images, hosts and URLs, templates
of Argo CD, and documents that cannot be told apart.
"""

from collections.abc import Iterator

from tests.golden.findings_cases import (
    CLUSTER,
    SCORER,
    SET,
    SETTINGS,
    SHARED,
    Documents,
    add_on,
    below,
    both,
    case,
    cluster,
    placement,
    selector,
    settings,
    source,
    variants,
)
from tests.golden.findings_score_tests import score_test
from tests.golden.findings_sources import BROKEN_CLUSTER, HUB, LABEL, QUERY
from tests.support.repositories import (
    APP,
    BARE,
    CONFIG,
    FULL,
    IMAGES,
    LABELS,
    LOCK,
    app,
    application_set,
    listed,
    masks,
    policy,
)

DIGEST = "sha256:" + "0a" * 32
PROD, NONE = "{matchLabels: {env: prod}}", "{matchLabels: {env: none}}"
WITHOUT_IMAGES = SETTINGS.replace(IMAGES, "")
TOKEN = "auth: {tokenSecretRef: {name: pull, key: k}}"


def _images() -> Iterator[tuple[str, Documents]]:
    for agent, reconciler in (
        (f"r.example.com:5000/agent@{DIGEST}", f"r.example.com/reconciler:1.0@{DIGEST}"),
        ("r.example.com:5000/agent:1.0", f"r.example.com/reconciler@{DIGEST}"),
        (f"agent@{DIGEST}", "r.example.com/reconciler"),
        (f"agent@{DIGEST[:-1]}", f"reconciler@{DIGEST}0"),
        (f"agent@{DIGEST.upper()}", f"reconciler{DIGEST}"),
        ("agent@sha512:" + "0a" * 64, f"reconciler@{DIGEST}@"),
    ):
        images = f"agent: {{image: '{agent}'}}, reconciler: {{image: '{reconciler}'}}"
        yield case(
            f"digests: {agent}, {reconciler}",
            settings=settings(f"{images}, requireImageDigests: true", WITHOUT_IMAGES),
        )
    for rest in (
        "",
        "reconciler: {enabled: false}, ",
        "reconciler: {enabled: false}, delivery: {mode: UpstreamController}, ",
    ):
        for digests in ("true", "false"):
            text = settings(f"{rest}requireImageDigests: {digests}", WITHOUT_IMAGES)
            yield case(f"our own images, {rest}digests {digests}", settings=text, scorers=BARE)
    each = (
        "requireImageDigests: true, hubScorer: {image: r/hub}, agent: {image: r/agent, openTelemetry: {image: r/otlp, collectorNamespaces: [otel]},"
        f" rollout: [{{clusterSelector: {PROD}, image: r/next}}, {{clusterSelector: {PROD}, nodeSelector: {{a: b}}}}]}}, reconciler: {{image: r/reconciler}}"
    )
    for title, text in (("spokes", SCORER), ("the hub", HUB)):
        yield case(
            f"each image without a digest, a scorer on {title}",
            settings=settings(each, WITHOUT_IMAGES),
            scorers=text,
        )
        yield case(f"no images, a scorer on {title}", settings=WITHOUT_IMAGES, scorers=text)


def _rollouts() -> Iterator[tuple[str, Documents]]:
    def rollout(*entries: str, text: str = SETTINGS) -> str:
        written = (
            f"{{clusterSelector: {entry}, image: r/agent:{at}}}" for at, entry in enumerate(entries)
        )
        return settings(f"agent: {{rollout: [{', '.join(written)}]}}", text)

    for entries in (
        ("{matchLabels: {'a b': none}}", NONE),
        ("{matchLabels: {zone: x}}",),
        ("{matchExpressions: [{key: env, operator: DoesNotExist}]}",),
    ):
        yield case(f"rollout to {'; '.join(entries)}", settings=rollout(*entries))
    yield case("rollout to nobody without clusters", settings=rollout(NONE), clusters="")
    entry = f"agent: {{rollout: [{{clusterSelector: {PROD}, imagePullSecrets: [pull]}}]}}"
    token = SCORER.replace("scoring: {", f"scoring: {{{TOKEN}, ")
    yield case("a token that a rollout pulls with", settings=settings(entry), scorers=token)


def _settings() -> Iterator[tuple[str, Documents]]:
    for url in listed("""
        fleet | ssh://-oProxyCommand=x/fleet | fd::3 | git@host:a/b.git | ssh://git@host/a | /srv/git/a.git
    """):
        yield case(
            f"a fleet at {url}", settings=SETTINGS.replace("https://git.example.com/fleet.git", url)
        )
    for field in (
        "output: {mode: Branch, branch: main}",
        "output: {mode: Branch, branch: a..b}",
        "output: {mode: Branch, branch: rendered/eu-1}",
        "agent: {egress: {apiServerPorts: [6443]}}",
        "agent: {egress: {rules: [{to: []}]}}",
        "agent: {egress: {mode: Limited, rules: [{from: []}]}}",
        "agent: {resources: {limits: {memory: 10XB}}}",
        "agent: {resources: {limits: {cpu: '2'}}}",
        *(
            f"agent: {{proxy: {{{proxy}}}}}"
            for proxy in (
                "httpProxy: 'http://p:3128', noProxy: '.svc, .cluster.local,fd00::/8,10.0.0.1:80'",
                "httpProxy: 'http://p:3128'",
                "httpProxy: 'http://p:3128', noProxy: prometheus.monitoring.svc",
                "httpsProxy: 'http://p:3128'",
                "noProxy: .svc",
                "",
                "httpProxy: 'http://me:secret@p:3128'",
                "httpProxy: 'p:3128'",
                "httpsProxy: 'socks5://p:1080'",
                "httpProxy: 'http://p:99999'",
                "httpProxy: ''",
                "httpProxy: 'http://p:3128', noProxy: '.svc,10.0.0.0/99'",
                "httpProxy: 'http://p:3128', noProxy: 'https://x.svc,.svc'",
                "httpProxy: 'http://p:3128', noProxy: '.svc,'",
                "httpProxy: 'http://p:3128', noProxy: '.svc .cluster.local'",
            )
        ),
        "allowedHosts: ['https://a.example.com']",
        "allowedHosts: ['*.example.com', 10.0.0.7]",
        "reconciler: {proposals: {kinds: [Locks]}, state: {enabled: true, branch: gitops-dsf}}",
        *(
            f"reconciler: {{resources: {{requests: {{cpu: 100m}}, limits: {{cpu: '{limit}'}}}}}}"
            for limit in ("100m", "0.1", "99m")
        ),
        *(
            f"reconciler: {{nodeSelector: {chosen}}}"
            for chosen in (
                "{kubernetes.io/os: linux}",
                "{kubernetes.io/os: 'a b'}",
                "{a//b: c}",
                "{'': 'a b'}",
            )
        ),
    ):
        yield case(f"settings {field}", settings=settings(field))
    for size in (250_000, 250_001):
        note = f"annotations: {{note: {'x' * (size - 4)}}}, labels: {{env: prod}}"
        yield case(
            f"annotations of {size} bytes", clusters=CLUSTER.replace("labels: {env: prod}", note)
        )
    for number in (1_000, 1_001):
        labels = ", ".join(f"l{each}: a" for each in range(number - 1))
        text = CLUSTER.replace("labels: {env: prod}", f"labels: {{env: prod, {labels}}}")
        yield case(f"{number} labels", clusters=text)
    yield case("an image that is none", settings=SETTINGS.replace("r.example.com/agent", "'a b'"))
    for toleration in listed("""
        operator: Exists | key: a, operator: Exists, effect: PreferNoSchedule
        key: a, operator: Gt, value: '-7'
        key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 0 | value: b
        operator: Equal | key: a, operator: Exists, value: b | key: a, value: b c | key: a b
        key: a, effect: NoSelect | key: a, tolerationSeconds: 5
        key: a, effect: NoSchedule, tolerationSeconds: 5 | key: a, effect: NoExecute, tolerationSeconds: 1m
        key: a, Operator: Exists | key: a, value: true
    """):
        yield case(
            f"a reconciler that tolerates {toleration}",
            settings=settings(f"reconciler: {{tolerations: [{{{toleration}}}]}}"),
        )
    for receiver in (
        "collectorNamespaces: [otel]",
        "image: prom, collectorNamespaces: []",
        *(
            f"image: prom, collectorNamespaces: [otel], {field}"
            for field in (
                "memory: 64Mi",
                "storage: 100Mi",
                "memory: 300M",
                "resourceAttributes: [a, b, a]",
                "runAsUser: 0",
            )
        ),
    ):
        yield case(
            f"a receiver with {receiver}",
            settings=settings(f"agent: {{openTelemetry: {{{receiver}}}}}"),
        )


def _hosts() -> Iterator[tuple[str, Documents]]:
    for host in listed("""
        localhost | api.localhost | 127.0.0.1 | 127.1 | 0.0.0.0 | [::1] | localhost.example.com | 10.0.0.7
    """):
        yield case(
            f"a scoring API at {host}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{host: 'http://{host}:8000', "),
        )
    yield case(
        "a source at localhost",
        scorers=source("host: 'http://localhost:9090', params: {query: up, range: 60, step: 60}"),
    )
    for url in listed("""
        http://${HOST}/config | http://<NODE_IP>:30007/config
    """):
        yield case(
            f"a page at {url}", scorers=SCORER.replace("http://api.svc:8000/config", f"'{url}'")
        )


def _applications() -> Iterator[tuple[str, Documents]]:
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


def _raw() -> Iterator[tuple[str, Documents]]:
    for spec in (
        "prioritizerPolicy: {mode: Exact, configuration: []}",
        "predicates: [{requiredClusterSelectr: {}}]",
        "predicates: [{requiredClusterSelector: {labelSelector: {matchLabel: {a: b}}}}]",
        *(
            f"predicates: [{{requiredClusterSelector: {{claimSelector: {{matchExpressions: [{{key: a, operator: In, values: [{value}]}}]}}}}}}]"
            for value in ("true", "1", "'b c'")
        ),
        "tolerations: [{key: a, operatr: Exists}]",
        "tolerations: [a]",
        "numberOfCluster: 1",
    ):
        yield case(f"Placement with {spec}", apps=placement(f"{{{spec}}}"))
    yield case("a Placement that ranks by no item", apps=policy(add_on("cpu-score", "''")))
    incomplete = {
        "scorers": SCORER.replace("interval: 60", "interval: 0"),
        "apps": policy(add_on()),
    }
    yield "a Placement of a scorer that is not complete", incomplete
    for text in ("{clusterDecisionResource: 3}", "{clusterDecisionResource: {}}"):
        yield case(
            f"an ApplicationSet of {text}", apps=both(placement("{}"), application_set(text))
        )
    yield case(
        "an ApplicationSet of nothing",
        apps=application_set("").partition("spec:")[0] + "spec: {goTemplate: true}\n",
    )
    yield case("a Placement of labels that are no text", apps=selector("{matchLabels: {a: [b]}}"))


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


def _argocd() -> Iterator[tuple[str, Documents]]:
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


def _sources() -> Iterator[tuple[str, Documents]]:
    for query in ("nodes > 2", "zzz", "nodes; pod_pending; cpu"):
        yield case(
            f"measures: {query}", scorers=source(f"type: Kubernetes, params: {{query: '{query}'}}")
        )
    mixed = variants(
        f"clusterSelector: {PROD}, type: Kubernetes",
        f"clusterSelector: {NONE}, type: Kubernetes",
        "host: 'http://prom.svc'",
    )
    fleet = both(CLUSTER, cluster("none-1", "env: none"), cluster("other-1", "env: other"))
    for query in ("nodes", "sum(up)"):
        uses = source(f"ref: platform, params: {{query: {query}, range: 600, step: 60}}")
        yield case(
            f"a MetricSource with and without measures: {query}",
            scorers=uses,
            config=mixed,
            clusters=fleet,
        )
    ranged = f"clusterSelector: {PROD}, host: 'http://thanos.svc'"
    nine = both(*(cluster(f"edge-{number}", "env: edge") for number in range(9)))
    yield case(
        "ten clusters without a variant",
        scorers=source("ref: platform, params: {query: up, range: 60, step: 60}"),
        config=variants(ranged),
        clusters=both(nine, cluster("metal", "env: edge")),
    )
    for field in (
        "basicAuth: {secretRef: {name: b}}",
        "auth: {clientCertificateSecretRef: {name: b}}",
        "headers: [{name: X-Api-Key, secretRef: {name: b, key: k}}]",
    ):
        for host in ("https://p.example.com", "http://p.example.com", "https://p.svc"):
            for allowed in (SETTINGS, settings("allowedTokenHosts: ['*.example.com']")):
                title = f"a MetricSource at {host} with {field}, {'allowed' if allowed != SETTINGS else 'not allowed'}"
                yield case(
                    title,
                    settings=allowed,
                    scorers=source("ref: platform, params: {query: up, range: 60, step: 60}"),
                    config=variants(f"host: '{host}', {field}"),
                )
        reserved = field.replace("name: b", "name: gitops-dsf-agent-hub-kubeconfig")
        with_pod_token = (
            field.replace("auth: {", "auth: {serviceAccountToken: true, ")
            if field.startswith("auth:")
            else f"auth: {{serviceAccountToken: true}}, {field}"
        )
        for text in (
            f"host: 'https://p.svc', {reserved}",
            f"type: Kubernetes, {field}",
            f"type: OpenTelemetry, {field}",
            f"host: 'https://p.svc', {with_pod_token}",
        ):
            yield case(
                f"a MetricSource of {text}",
                scorers=source("ref: platform, params: {query: nodes, range: 60, step: 60}"),
                config=variants(text),
            )
        one, other = (
            variants(f"host: 'https://a.svc', {field}"),
            variants(f"host: 'https://b.svc', {field}").replace("name: platform", "name: other"),
        )
        first = source("ref: platform, params: {query: up, range: 60, step: 60}")
        second = (
            first.replace("{name: cpu}", "{name: gpu}")
            .replace("cpu_score", "gpu_score")
            .replace("ref: platform", "ref: other")
        )
        yield case(f"two hosts with {field}", scorers=both(first, second), config=both(one, other))
    for header in (
        "{name: Proxy-Authorization, secretRef: {name: h, key: k}}",
        "{name: X-Org, value: ''}",
        '{name: X-Org, value: "a\\nB: c"}',
        "{name: X-Api-Key, value: x}",
        "{name: X-Auth-Token, value: x}",
        "{name: Cookie, value: x}",
    ):
        yield case(
            f"a MetricSource with the header {header}",
            scorers=source("ref: platform, params: {query: up, range: 60, step: 60}"),
            config=variants(f"host: 'http://p.svc', headers: [{header}]"),
        )
    same = both(
        *(cluster(name, f"env: {env}") for name, env in (("a", "x"), ("b", "x"), ("c", "y")))
    )
    by_env = HUB.replace(LABEL, "clusterLabel: {name: env, label: env}").replace(
        "(cluster)", "(env)"
    )
    for title, more in (("", ""), (", suspended", "suspend: true")):
        yield case(
            f"clusters with one value{title}",
            scorers=below(more, by_env) if more else by_env,
            clusters=same,
        )
    for label in ("{name: env, claim: a, label: b}", '{name: "a-b"}'):
        yield case(
            f"on the hub, the label {label}",
            scorers=HUB.replace(LABEL, f"clusterLabel: {label}").replace("(cluster)", "(env)"),
        )
    yield case(
        "on the hub, a password that is not listed",
        scorers=HUB.replace("host: 'http://thanos.svc'", "ref: platform"),
        config=variants("host: 'http://m.svc', basicAuth: {secretRef: {name: login}}"),
    )
    yield case(
        "the same score on the hub and on the spokes",
        scorers=both(HUB, QUERY.replace("{name: cpu}", "{name: here}")),
    )
    for query in (
        "up[5m]",
        '"text"',
        "100 * (1 - avg(up))",
        "rate(up[5m])",
        "topk(1, sum by (node) (up))",
    ):
        yield case(f"no API: {query}", scorers=QUERY.replace("avg(up)", query))
    for value in ("101", "-101", "1.5"):
        yield case(f"defaultScore {value}", scorers=below(f"defaultScore: {value}", QUERY))
    yield case("scoring.type query", scorers=QUERY.replace("type: Query", "type: query"))
    yield case("a scoring API with nothing of it", scorers=QUERY.replace("type: Query, ", ""))
    pushed = source("type: OpenTelemetry, params: {query: Q, range: 60, step: 60}")
    for query in (
        'a{host="x.y"} + sum(k8s.pod.cpu.usage)',
        'sum(k8s.pod.cpu.usage) + a{host="x.y"}',
    ):
        yield case(f"pushed metrics: {query}", scorers=pushed.replace("Q,", f"'{query}',"))


def _left_out() -> Iterator[tuple[str, Documents]]:
    """What is wrong in one document is not told of another one as well."""
    mask = masks("{clusterName: prod-1, scoreName: cpu_score}")
    for old, new in (
        ("kind: DynamicScorer\n", ""),
        ("kind: DynamicScorer", "kind: 5"),
        ("kind: DynamicScorer", "kind: dynamicscorer"),
        ("metadata: {name: cpu}", "metadata: {}"),
        ("metadata: {name: cpu}", "metadata: {name: CPU}"),
        ("metadata: {name: cpu}", "metadata: {name: 5}"),
        (SCORER, "kind: [\n"),
        ("{min: 0, max: 1}", "{min: zero, max: 1}\n  suspend: 'true'\n  scoreTTLSeconds: soon"),
    ):
        yield case(
            f"a scorer with {' '.join(new.split()) or 'no kind'}",
            scorers=SCORER.replace(old, new),
            apps=APP,
            config=mask,
        )
    yield case(
        "applications that cannot be read",
        apps="kind: [\n",
        config=masks("{clusterName: prod-2, scoreName: cpu_score}"),
    )
    reserved = SCORER.replace(
        "scoring: {", "scoring: {auth: {tokenSecretRef: {name: hub-kubeconfig, key: k}}, "
    )
    yield case(
        "a wrong mode and a reserved Secret",
        settings=settings("delivery: {mode: 5}"),
        scorers=reserved,
    )
    for stickiness in (0, 20):
        yield case(
            f"no weight, stickiness {stickiness}",
            apps=app(
                "[{scorer: cpu}]", f"[{{scorer: cpu, weight: 0}}]\n  stickiness: {stickiness}"
            ),
        )
    for auth in listed("""
        {token: abcdefgh} | {token: abc} | {username: abc}
        {tokenSecretRef: {name: a, key: b, value: abcdefgh}} | {serviceAccountToken: 'true'}
    """):
        yield case(
            f"scoring.auth {auth}",
            scorers=SCORER.replace("scoring: {", f"scoring: {{auth: {auth}, "),
        )
        yield case(
            f"source.auth {auth}",
            scorers=source(
                f"host: 'http://p.svc', auth: {auth}, params: {{query: up, range: 60, step: 30}}"
            ),
        )
    old = LOCK.replace("http://api.svc:8000/config,", "http://old.svc/config,")
    yield case("a lock of another page", scorers=FULL, locks=old)
    everything = both(
        SCORER,
        SCORER.replace("interval: 60", "interval: 0")
        .replace("description", "descripton")
        .replace("cpu", "gpu"),
    )
    yield case(
        "mistakes of every stage",
        settings=SETTINGS.replace("git.example.com", "user:pass@git.example.com"),
        scorers=everything,
        clusters=both(CLUSTER, "kind: [\n", cluster("edge_1")),
        config=masks(
            "{clusterName: prod-1, scoreName: cpu_score}, {clusterName: prod-1, scoreName: cpu_score}"
        ),
        apps=both(
            placement("{numberOfClusters: 0}"), application_set("{clusterDecisionResource: {}}")
        ),
    )


def _score_tests() -> Iterator[tuple[str, Documents]]:
    for more in (0, 1):
        series = [
            f"{{scorer: cpu, cluster: prod-1, labels: {{node: n{number}}}, values: 1x9999}}"
            for number in range(20)
        ]
        series += ["{scorer: cpu, cluster: prod-1, labels: {node: last}, values: '1'}"] * more
        yield case(
            f"as many values as a test may have and {more}",
            apps=APP,
            tests=score_test(f"series: [{', '.join(series)}]"),
        )
    for name in ("p", "argocd/p", "other/p", "argocd"):
        yield case(
            f"a test of the Placement {name}",
            apps=placement("{numberOfClusters: 1}"),
            tests=score_test(expect=f"decisions: [{{placement: {name}, clusters: []}}]"),
        )
    expect = "decisions: [{application: web, clusters: [prod-2]}]"
    yield case(
        "a test beside a broken cluster",
        apps=APP,
        tests=score_test(expect=expect),
        clusters=both(CLUSTER, BROKEN_CLUSTER),
    )
    scores = score_test(expect="scores: [{scorer: cpu, cluster: prod-1, value: 1}]")
    for mode, text in (("None", SCORER), ("Full", FULL)):
        yield case(
            f"a test of a score without a name, {mode}",
            scorers=text.replace("name: cpu_score, ", ""),
            tests=scores,
        )


def _shared() -> Iterator[tuple[str, Documents]]:
    """The ranking of a ScoredPlacement is judged like an application's."""
    for spec in listed("""
        scores: [{scorer: cpu, weight: -1}] | scores: [{scorer: cpu}], stickiness: 7
        scores: [{scorer: cpu, weight: 0}] | scores: [{scorer: cpu}, {scorer: cpu}]
        scores: [{scorer: cpu}], placement: {clusterSets: [nowhere]}
        scores: [{scorer: cpu}], placement: {numberOfClusters: 0}
        scores: [{scorer: cpu}], moves: {strategy: Keep} | placement: {}
    """):
        yield case(
            f"ScoredPlacement of {spec}", apps=SHARED.partition("spec:")[0] + f"spec: {{{spec}}}\n"
        )
    yield case("two ScoredPlacements", apps=both(SHARED, SHARED))
    yield case(
        "a ScoredPlacement and a Placement",
        apps=both(SHARED, placement("{}").replace("name: p", "name: shared")),
    )
    for old, new in (
        ("[{scorer: cpu}]", ""),
        ("[{scorer: cpu}]", "[{scorer: cpu}]\n  placement: {ref: shared, tolerations: []}"),
    ):
        yield case(
            f"an application with {' '.join(new.split())} beside it",
            apps=both(app("  placement: {numberOfClusters: 1}\n", "").replace(old, new), SHARED),
        )


def _words() -> Iterator[tuple[str, Documents]]:
    """Mistakes that the model finds, in words that people understand."""
    head = SCORER.partition("spec:")[0]
    spec = head + "spec:\n  description: d\n  configURL: http://a\n  configSyncMode: None\n"
    for rest in (
        "  suspent: true",
        "  source: {zzz: 1}",
        "  scoreTTLSeconds: '900'",
        "  scoreTTLSeconds: 1.5",
        "  scoreTTLSeconds: 1d12h",
        "  scoreDimensionFormat: true",
        "  scoreDimensionFormat: 1.10",
        "  scoreDimensionFormat: 0x1F",
        "  description2:",
        "  scoreAggregation: ''",
        "  scoreAggregation: Avg",
        "  source: [a]",
        "  source: {suspend: true}",
        "  source: {query: up}",
        "  source: {params: {range: 1h}}",
        "  source: {params: {step: -1}}",
        "  publish: {deadband: 201}",
        "  scoreRange: {min: 1}",
        "  scoreRange: {min: 1, max: 1}",
        "  scoreRange: {min: .inf, max: 1}",
        "  path: /scoring",
        "  labels: {team: a}",
        "scoreDestination: None",
        "  suspend: on",
        "  suspend: 017",
        "  scoreTTLSeconds: 1_000",
        "  scoreTTLSeconds: 060",
        "  scoreTTLSeconds: off",
        "  location: no",
    ):
        yield case(
            f"a scorer with{'' if rest[0] == ' ' else ' '}{rest.replace('  ', ' ')}",
            scorers=f"{spec}{rest}\n",
        )
    for written in ("spec:", "spec: {}", "spec: [a]", "spec: text", ""):
        yield case(f"a scorer of {written or 'no spec'}", scorers=f"{head}{written}\n")
    yield case(
        "a scorer without configSyncMode", scorers=spec.replace("  configSyncMode: None\n", "")
    )
    for labels in ("labels: {env: on}", "annotations: {build: 12e03}"):
        yield case(
            f"a cluster with {labels}", clusters=CLUSTER.replace("labels: {env: prod}", labels)
        )
    for rest in (
        "spec: {taints: [{key: a, value: off}]}",
        "status: {clusterClaims: [{name: a, value: 017}]}",
    ):
        yield case(f"a cluster with {rest}", clusters=f"{CLUSTER}{rest}\n")
    for text in ("{tolerations: [{key: on, operator: Exists}]}", "{numberOfClusters: 017}"):
        yield case(f"a Placement with {text}", apps=placement(text))
    for size in ("'5'", "[1]"):
        groups = f"{{decisionGroups: {{clustersPerDecisionGroup: {size}}}}}"
        yield case(
            f"a ScoredPlacement in groups of {size}",
            apps=SHARED.replace("{numberOfClusters: 1}", groups),
        )
    yield case(
        "an application in groups, as earlier versions had them",
        apps=app("{numberOfClusters: 1}", "{decisionGroups: {clustersPerDecisionGroup: 2}}"),
    )
    for text in (
        "name: web",
        "name: 'web-{{.server}}'",
        "name: 'web-{{ .name }}'",
        "labels: {'a b': c, d: e f, g: 'x {{.name}}'}",
        "labels: {g: '{{.nam}}'}",
        "marks: None",
        "destination: Server",
    ):
        fields = f"destinationNamespace: web, template: {{{text}}}"
        yield case(
            f"an application with the template {text}",
            apps=app("destinationNamespace: web", fields),
        )
    for text in (
        "ignoreDifferences: [{kind: 5, jsonPointer: [/a]}]",
        "info: [{name: a, value: '{{.nam}}'}]",
        "applicationSet: {preservedFields: {label: [a]}}",
        "applicationSet: {ignoreApplicationDifferences: [{jsonPointers: /spec}]}",
        "revisionHistoryLimit: -1",
    ):
        yield case(
            f"an application with {text}",
            apps=app("destinationNamespace: web", f"destinationNamespace: web, {text}"),
        )
    for text in (
        "kind: DynamicScorer",
        "apiVersion: 1\nkind: X",
        "kind: DynamicScorer\napiVersion: null",
        "apiVersion: apps/v1\nmetadata: {name: a}",
        "apiVersion: v1\nkind: List",
        "apiVersion: v1\nkind: ManagedClustr",
        "apiVersion: v1\nkind: applicationset",
        "apiVersion: v1\nkind: Placements",
        "apiVersion: v1\nkind: no kind",
        "apiVersion: gitops-dsf.io/v1alpha1\nkind: Fleet",
        "apiVersion: gitops-dsf.io/v2\nkind: FleetRepository",
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1\nkind: DynamicScorer",
        "apiVersion: cluster.open-cluster-management.io/v1beta2\nkind: ManagedClusterSetBinding",
        "apiVersion: argoproj.io/v1alpha1\nkind: Application",
        "apiVersion: v1\nkind: Secret",
        "apiVersion: apps/v1\nkind: Deployment",
        "apiVersion: v2\nname: a-chart\nversion: 1.0.0",
        "replicas: 2\nimage: {tag: latest}",
        "kind: Unheard\nmetadata: {labels: {a: on}}",
        "kind: Unheard\nsize: on",
        spec,
    ):
        yield case(f"in apps: {', '.join(text.splitlines()[:2])}", apps=f"{text}\n")
