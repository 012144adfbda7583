# ruff: noqa: E501 - texts of documents
"""Small repositories for tests/golden/test_findings.py: gitops-dsf.yaml."""

from collections.abc import Iterator

from tests.golden.findings_documents import (
    CLUSTER,
    HUB,
    NONE,
    PROD,
    SCORER,
    SETTINGS,
    Documents,
    case,
    settings,
)
from tests.support.repositories import BARE, IMAGES, listed

DIGEST = "sha256:" + "0a" * 32
WITHOUT_IMAGES = SETTINGS.replace(IMAGES, "")
TOKEN = "auth: {tokenSecretRef: {name: pull, key: k}}"


def _agents() -> Iterator[tuple[str, Documents]]:
    digests = settings("requireImageDigests: true")
    entry = "clusterSelector: {matchLabels: {env: prod}}, image: 'r/a:2'"
    for entries in (
        f"{{{entry}}}, {{{entry}}}",
        f"{{clusterSelector: {{}}, tolerations: [], image: 'r/a:3'}}, {{{entry}, nodeSelector: {{}}, tolerations: []}}",
        "{clusterSelector: {}}",
        "{clusterSelector: {matchLabels: {env: x}}, image: 'r/a:2'}",
        "{clusterSelector: {matchLabels: {env: 'x!'}}, image: 'r/a:2'}",
    ):
        rollout = f"agent: {{rollout: [{entries}]}}"
        yield rollout, {"settings": settings(rollout)}
        yield f"{rollout} without digests", {"settings": settings(rollout, digests)}
    for fields in listed("""
        tolerations: [{value: 'yes'}] | nodeSelector: {kubernetes.io/os: 'linux,arm'}
        nodeSelector: {a//b: x} | imagePullSecrets: [a, b, a]
        resources: {requests: {memory: 0.5Gi}, limits: {memory: 500M}} | resources: {limits: {memory: 64Mi}}
    """):
        for section in ("agent", "hubScorer", "reconciler"):
            yield f"{section} with {fields}", {"settings": settings(f"{section}: {{{fields}}}")}
        rollout = f"agent: {{rollout: [{{clusterSelector: {{}}, {fields}}}]}}"
        yield rollout, {"settings": settings(rollout)}
    for fields in (
        "replicas: 0",
        "suspend: {enabled: true, quorumPercent: 101}",
        "proposals: {forgeURL: 'https://github.example.com'}",
        'proposals: {author: {name: "a\\nb", email: a@example.com}}',
        "proposals: {kinds: [Locks], forge: GitHub}",
        "state: {branch: -x}",
        "state: {enabled: true, branch: main}",
        "metricStore: {host: 'https://thanos.example.com'}",
        "state: {enabled: true}, metricStore: {host: thanos}",
        "state: {enabled: true}, metricStore: {host: 'https://thanos.example.com/graph'}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', clusterLabel: a-b}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', auth: {serviceAccountToken: true}}",
        "state: {enabled: true}, metricStore: {host: 'https://a.example.com', intervalSeconds: 5}",
        "journal: {enabled: true, branch: main}",
        "state: {enabled: true}, journal: {enabled: true, branch: gitops-dsf-state}",
    ):
        yield f"reconciler with {fields}", {"settings": settings(f"reconciler: {{{fields}}}")}
    head = settings("reconciler: {proposals: {kinds: [Locks]}}").replace(
        "git: {", "git: {targetRevision: HEAD, "
    )
    yield "proposals onto HEAD", {"settings": head}
    for image in ("https://r/a:1", "localhost:5000/r/a:1"):
        yield f"image {image}", {"settings": settings(f"hubScorer: {{image: '{image}'}}")}


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
    for sections in (
        "agent: {logFormat: text}",
        "hubScorer: {logFormat: text}, agent: {image: r/agent}",
        "hubScorer: {}, agent: {}",
    ):
        text = settings(f"delivery: {{mode: UpstreamController}}, {sections}", WITHOUT_IMAGES)
        yield case(f"beside upstream's add-on: {sections}", settings=text, scorers=BARE)
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
    digests = settings("requireImageDigests: true")
    for image in ("r/c:1", f"r/c@sha256:{'0a' * 32}"):
        yield case(
            f"images without digests and receiver {image}",
            settings=settings(
                f"agent: {{openTelemetry: {{image: '{image}', collectorNamespaces: [otel]}}}}",
                digests,
            ),
        )


def _image_versions() -> Iterator[tuple[str, Documents]]:
    """Images of another version."""
    for version in ("0.0.1", "main"):
        image = f"r.example.com/gitops-dsf-agent:{version}"
        yield f"an agent {version}", {"settings": SETTINGS.replace("r.example.com/agent", image)}


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
    yield "settings with a mistake", {"settings": SETTINGS.replace("spec: {", "spec: {x: 1, ")}
