"""The NetworkPolicy over the agent's connections, from the endpoints of a cluster's scorers."""

from typing import Any

import pytest

from dsf_wire.summary import ScorerSummary
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.repository.model.agent import Egress

DNS = [
    {"port": 53, "protocol": "TCP"},
    {"port": 53, "protocol": "UDP"},
    {"port": 5353, "protocol": "TCP"},
    {"port": 5353, "protocol": "UDP"},
]


def rules(*urls: str, **settings: Any) -> list[dict[str, Any]]:
    """Of a cluster with one scorer for each URL, without the rule for DNS."""
    summaries = [ScorerSummary(name=url, score_name="s", scoring_endpoint=url) for url in urls]
    egress = Egress.model_validate({"mode": "Limited", **settings})
    first, *rest = egress_policy(summaries, egress)["spec"]["egress"]
    assert first == {"ports": DNS}
    return rest


def ports(*numbers: int) -> dict[str, Any]:
    return {"ports": [{"port": number, "protocol": "TCP"} for number in numbers]}


def namespace(name: str) -> dict[str, Any]:
    return {"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}]}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://prometheus.monitoring.svc:9090/api", [ports(443, 6443), namespace("monitoring")]),
        (
            "http://prometheus.monitoring.svc.cluster.local",
            [ports(443, 6443), namespace("monitoring")],
        ),
        ("https://p-0.p.monitoring.svc:9090", [ports(443, 6443), namespace("monitoring")]),
        # A domain of the cluster that nobody here knows: perhaps a Service, perhaps not.
        (
            "http://p.monitoring.svc.corp.example:9090",
            [ports(443, 6443, 9090), namespace("monitoring")],
        ),
        ("http://api", [ports(443, 6443), namespace("dynamic-scoring")]),
        ("http://api.scoring:8000", [ports(443, 6443, 8000), namespace("scoring")]),
        # A namespace that is called svc, and a domain with such a label, which is not a namespace.
        ("http://api.svc:8000", [ports(443, 6443), namespace("svc")]),
        ("http://api.svc.example.com:8000", [ports(443, 6443, 8000)]),
        ("https://scores.example.com/x", [ports(443, 6443)]),
        ("http://scores.example.com", [ports(80, 443, 6443)]),
        (
            "http://10.0.0.7:9090",
            [ports(443, 6443), {"to": [{"ipBlock": {"cidr": "10.0.0.7/32"}}], **ports(9090)}],
        ),
        (
            "https://[fd00::7]",
            [ports(443, 6443), {"to": [{"ipBlock": {"cidr": "fd00::7/128"}}], **ports(443)}],
        ),
    ],
)
def test_an_endpoint_is_allowed_by_what_a_policy_can_say_of_it(
    url: str, expected: list[Any]
) -> None:
    assert rules(url) == expected


def test_rules_are_few_and_in_order_whatever_the_number_of_scorers() -> None:
    urls = [f"http://a-{number}.b-{number % 2}.svc:9090" for number in range(50)]
    urls += [f"https://h-{number}.example.com:{8000 + number % 2}" for number in range(50)]
    urls += ["http://10.0.0.7:2", "http://10.0.0.7:1"]
    address = {"to": [{"ipBlock": {"cidr": "10.0.0.7/32"}}], **ports(1, 2)}
    assert rules(*urls) == [
        ports(443, 6443, 8000, 8001),
        namespace("b-0"),
        namespace("b-1"),
        address,
    ]
    assert rules(*reversed(urls)) == rules(*urls)
