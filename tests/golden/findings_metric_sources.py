# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: MetricSources and types of sources."""

from collections.abc import Callable, Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    HUB,
    LABEL,
    NONE,
    PROD,
    QUERY,
    SETTINGS,
    USES,
    Documents,
    asked,
    below,
    both,
    case,
    cluster,
    settings,
    source,
    variants,
)
from tests.support.repositories import UPSTREAM, listed


def _metric_sources() -> Iterator[tuple[str, Documents]]:
    host, other = "host: 'http://prom.svc:9090'", "host: 'http://thanos.svc'"
    prod, edge = (
        "clusterSelector: {matchLabels: {env: prod}}",
        "clusterSelector: {matchLabels: {env: edge}}",
    )
    fleet = both(CLUSTER, cluster("edge-1", "env: edge"), cluster("edge-2", "env: edge"))
    for texts in (
        (f"{host}, {prod}",),
        (f"{host}, {edge}",),
        (f"{host}, {prod}", f"{other}, {prod}", f"{other}, {edge}"),
        (f"{host}, clusterSelector: {{}}", f"{other}, {edge}"),
        (f"{host}, clusterSelector: {{matchExpressions: [{{key: env, operator: Exists}}]}}", other),
        (
            f"{host}, auth: {{tokenSecretRef: {{name: t, key: k}}}}",
            f"{other}, auth: {{tokenSecretRef: {{name: t, key: k}}}}",
        ),
        (f"{host}, auth: {{tokenSecretRef: {{name: bootstrap-hub-kubeconfig, key: k}}}}",),
        ("host: 'https://prom.example.com', auth: {tokenSecretRef: {name: t, key: k}}",),
        ("host: 'http://prom.example.com', auth: {tokenSecretRef: {name: t, key: k}}",),
        ("host: 'https://prom.example.com', auth: {serviceAccountToken: true}",),
        ("host: 'http://169.254.169.254'",),
        ("host: 'ftp://a'",),
        (f"{host}, path: '/a?b'",),
        (f"{host}, headers: [{{name: X-A, value: a}}, {{name: x-a, value: b}}]",),
        (f"{host}, headers: [{{name: Authorization, value: a}}]",),
        (
            f"{host}, headers: [{{name: Host, value: a}}, {{name: 'a b', value: a}}, {{name: A, value: ä}}]",
        ),
        (f"{host}, auth: {{clientCertificateSecretRef: {{name: c}}}}",),
    ):
        documents = {"config": variants(*texts), "clusters": fleet}
        title = f"MetricSource of {'; '.join(texts)}"
        yield title, {**documents, "scorers": USES}
        yield f"{title}, unused", documents
        yield (
            f"{title}, for prod",
            {**documents, "scorers": below("clusterSelector: {matchLabels: {env: prod}}", USES)},
        )
        yield f"{title}, suspended", {**documents, "scorers": below("suspend: true", USES)}
        yield (
            f"{title}, for a selector with a mistake",
            {**documents, "scorers": below("clusterSelector: {matchLabels: {env: 'a b'}}", USES)},
        )
    for ref in ("platfrm", "xyz"):
        yield case(
            f"source.ref {ref}",
            config=variants(host),
            scorers=USES.replace("ref: platform", f"ref: {ref}"),
        )
        yield case(
            f"source.ref {ref} without MetricSources",
            scorers=USES.replace("ref: platform", f"ref: {ref}"),
        )
    yield (
        "source.ref of a MetricSource with a mistake",
        {"config": variants("host: 3"), "scorers": USES},
    )
    for field in ("type: Prometheus", "host: http://prom:9090", "path: /p"):
        yield case(
            f"source.ref and {field}",
            config=variants(host),
            scorers=USES.replace("ref:", f"{field}, ref:"),
        )


def _receivers() -> Iterator[tuple[str, Documents]]:
    receiver = settings("agent: {openTelemetry: {image: 'prom:3', collectorNamespaces: [otel]}}")
    text = source("type: OpenTelemetry, params: {query: 'up', range: 60, step: 60}")
    every_query = """
        k8s.pod.cpu | sum(k8s.pod.cpu) | up up | a.b + up up | up ? | .a | a.b.c | a;b.c | 'x'.a
        k8s.pod up | up a.b | sum(up | a.b. | up .
    """
    for title, given, queries in (
        ("with", receiver, every_query),
        ("without", SETTINGS, "k8s.pod.cpu | up up"),
        ("no settings,", "", "k8s.pod.cpu | up up"),
        ("upstream,", UPSTREAM, "k8s.pod.cpu | up up"),
    ):
        for query in listed(queries):
            quoted = query.replace("'", "''")
            yield case(
                f"{title} a receiver: {query}",
                settings=given,
                scorers=text.replace("'up'", f"'{quoted}'"),
            )
        for field in (
            "host: 'http://prom.svc'",
            "auth: {serviceAccountToken: true}",
            "dialect: Other",
        ):
            yield case(
                f"{title} a receiver, {field}",
                settings=given,
                scorers=text.replace("params:", f"{field}, params:", 1),
            )


def _measures() -> Iterator[tuple[str, Documents]]:
    text = source("type: Kubernetes, params: {query: 'nodes'}")

    def of_each_type(query: str) -> Iterator[tuple[str, str]]:
        yield "API", text.replace("'nodes'", f"'{query}'")
        yield "Query", asked(query).replace("{host: 'http://prom.svc'", "{type: Kubernetes")

    for query in (
        "",
        " ; ",
        "nodez",
        "sum(nodes)",
        "nodes; gpu; xyz",
        "nodes[5m]",
        "1",
        "nodes/" + "x" * 39,
        "nodes/" + "x" * 40,
    ):
        for kind, given in of_each_type(query):
            yield f"measures: {query}, type {kind}", {"scorers": given}
    for query in (
        "nodez",
        "node_ready; nodes",
        "node_ready",
        "nodes; extended_available",
        'extended_available{resource="a"}',
    ):
        for kind, given in of_each_type(query):
            if query != "nodez":
                yield f"measures: {query}, type {kind}", {"scorers": given}
            for template in ("${node}", "${pod}", "${scoreName}"):
                yield case(
                    f"measures: {query}, type {kind}, {template}",
                    scorers=below(f"scoreDimensionFormat: '{template}'", given),
                )
    for count in (100, 101):
        yield case(
            f"{count} measures",
            scorers=text.replace("'nodes'", f"'{'; '.join(['node_ready'] * count)}'"),
        )
        yield case(
            f"{count} measures and a mistake",
            scorers=text.replace("'nodes'", f"'{'; '.join(['nodez', *['nodes'] * (count - 1)])}'"),
        )
    yield "measures with the upstream controller", {"scorers": text, "settings": UPSTREAM}
    yield "dialect Other of measures", {"scorers": text.replace("type:", "dialect: Other, type:")}
    yield case(
        "dialect MetricsQL of measures with a mistake",
        scorers=text.replace("type:", "dialect: MetricsQL, type:").replace(
            "'nodes'", "'up default 0'"
        ),
    )


def _variants_and_measures() -> Iterator[tuple[str, Documents]]:
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


def _parameters() -> Iterator[tuple[str, Documents]]:
    """URL parameters of a source, and what becomes of partial answers."""
    places: dict[str, Callable[[str], Documents]] = {
        "a scorer": lambda fields: {
            "scorers": QUERY.replace("params: {query", f"{fields}, params: {{query")
        },
        "a MetricSource": lambda fields: {
            "config": variants(f"host: 'http://prom.svc', {fields}"),
            "scorers": QUERY.replace("host: 'http://prom.svc'", "ref: platform"),
        },
    }
    for place, documents in places.items():
        for parameters in listed("""
            namespace: team-a, partial_response: 'false', 'extra_filters[]': '{env=\"prod\"}'
            query: up, start: '0', end: '1' | step: '1', time: '1', timeout: 30s, limit: '5'
            Step: '1' | '': x | 'a b': x | 'é': x | a: "x\\ny" | a: ''
            token: abcdefgh, api_key: '' | partial_response: false, nocache: 1
        """):
            yield case(
                f"{place} with the parameters {parameters}",
                **documents(f"parameters: {{{parameters}}}"),
            )
        many = ", ".join(f"p{number}: x" for number in range(21))
        yield case(f"{place} with too many parameters", **documents(f"parameters: {{{many}}}"))
        yield case(
            f"{place} with a long parameter", **documents(f"parameters: {{a: {'x' * 1025}}}")
        )
        yield case(f"{place} with a list of parameters", **documents("parameters: [a=b]"))
        for choice in ("Publish", "Fail", "fail", "Ignore"):
            yield case(f"{place} with onPartial {choice}", **documents(f"onPartial: {choice}"))
    both_fields = "parameters: {a: b}, onPartial: Fail"
    for kind in ("Kubernetes", "OpenTelemetry"):
        query = "cpu_available_ratio" if kind == "Kubernetes" else "avg(up)"
        yield case(
            f"parameters and onPartial with type {kind}",
            scorers=asked(query).replace("host: 'http://prom.svc'", f"type: {kind}, {both_fields}"),
        )
        yield case(
            f"parameters and onPartial in a variant of type {kind}",
            config=variants(f"type: {kind}, {both_fields}"),
            scorers=asked(query).replace("host: 'http://prom.svc'", "ref: platform"),
        )
    yield case(
        "parameters and onPartial for upstream's agent",
        settings=UPSTREAM,
        scorers=source(
            f"host: 'http://prom.svc', {both_fields}, params: {{query: up, range: 60, step: 60}}"
        ),
    )
