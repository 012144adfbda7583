"""Checks over HTTP whether a scoring API, in any language, follows the wire contract."""

from urllib.parse import urlsplit

from dsf_scorer.conformance import pages, scoring
from dsf_scorer.conformance.exchange import LOOPBACK, OK, WARNING, Client, Finding, Report, Severity, Target
from dsf_scorer.conformance.pages import JudgeQuery
from dsf_scorer.conformance.scoring import Sample, nodes, read_sample
from dsf_scorer.definition import DEFAULT_PATH
from dsf_wire.scoring import ScorerConfig

__all__ = [
    "Client",
    "Finding",
    "JudgeQuery",
    "Report",
    "Sample",
    "Severity",
    "Target",
    "check",
    "read_sample",
]


def check(
    target: Target,
    *,
    client: Client,
    judge_query: JudgeQuery,
    token: str = "",
    sample: Sample | None = None,
    needs_config: bool = True,
    large: int = 2000,
) -> Report:
    """Runs all checks. The token is only sent to the target's host, or that of the given scoring URL."""
    findings = [pages.healthz(client, target)]
    config, found = pages.config_page(client, target, required=needs_config, judge_query=judge_query)
    findings += found
    url = target.scoring_url or _scoring_url(target, config)
    if config is not None and not target.scoring_url and pages.other_origin(config.scoring, target):
        host = config.scoring.host
        hint = f"pass --scoring-url to check {host}, if it may have the token"
        findings.append(
            Finding("scoring.url", WARNING, f"checked at {url}, although /config names {host}", hint)
        )
    if token:
        findings.append(_transport(url))
    reads_metrics = config is None or pages.needs_metrics(config)
    endpoint = scoring.Endpoint(client=client, url=url, token=token)
    sample = Sample(data=nodes(3) if reads_metrics else []) if sample is None else sample
    findings += scoring.check(endpoint, sample, large=large, reads_metrics=reads_metrics)
    return Report(url=target.config_url, findings=tuple(findings))


def _scoring_url(target: Target, config: ScorerConfig | None) -> str:
    """On the origin of /config, whatever host that names."""
    if config is None:
        return target.origin + DEFAULT_PATH
    path = config.scoring.path
    if not path.startswith("/"):
        path = config.scoring.host.partition("://")[2].partition("/")[2].rstrip("/")
    return f"{target.origin}/{path.lstrip('/')}" if path else target.origin + DEFAULT_PATH


def _transport(url: str) -> Finding:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname in LOOPBACK:
        return Finding("scoring.transport", OK, "the token does not travel in the clear")
    hint = "use https outside of a cluster's own network"
    return Finding("scoring.transport", WARNING, "the token travels over http in the clear", hint)
