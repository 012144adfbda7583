"""Runs the whole contract test of one scoring API."""

from urllib.parse import urlsplit

from dsf_scorer.conformance import pages, scoring
from dsf_scorer.conformance.config import JudgeQuery, needs_metrics
from dsf_scorer.conformance.data import Sample, generic_sample
from dsf_scorer.conformance.exchange import Client
from dsf_scorer.conformance.finding import Finding, Report, ok, warning
from dsf_scorer.conformance.target import LOOPBACK, Target, TargetError, origin_of, split_http
from dsf_scorer.definition import DEFAULT_PATH
from dsf_wire.scoring import ScorerConfig


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
    """Runs all checks. Never raises because of the scoring API.

    The token is sent only to the host of the target (or of the given scoring URL), even if /config names
    another host.
    """
    findings: list[Finding] = pages.healthz(client, target)
    config, found = pages.config_page(client, target, required=needs_config, judge_query=judge_query)
    findings += found
    url, doubts = _scoring_url(target, config)
    findings += doubts
    if token:
        findings += _clear_text(url)
    endpoint = scoring.Endpoint(client=client, url=url, token=token)
    reads_metrics = config is None or needs_metrics(config)
    if sample is None:
        sample = generic_sample(needs_metrics=reads_metrics)
    findings += scoring.check(endpoint, sample, large=large, reads_metrics=reads_metrics)
    return Report(url=target.config_url, findings=tuple(findings))


def _scoring_url(target: Target, config: ScorerConfig | None) -> tuple[str, list[Finding]]:
    if target.scoring_url:
        return target.scoring_url, []
    if config is None:
        return target.origin + DEFAULT_PATH, []
    path = config.scoring.path if config.scoring.path.startswith("/") else ""
    try:
        parts = split_http(config.scoring.host) if config.scoring.host else None
    except TargetError:
        parts = None
    if parts is None:
        return target.origin + (path or DEFAULT_PATH), []
    here = target.origin + (path or parts.path.rstrip("/") or DEFAULT_PATH)
    if origin_of(parts) == target.origin:
        return here, []
    hint = f"pass --scoring-url to check {config.scoring.host}, if it may have the token"
    return here, [
        warning("scoring.url", f"checked at {here}, although /config names {config.scoring.host}", hint)
    ]


def _clear_text(url: str) -> list[Finding]:
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname in LOOPBACK:
        return [ok("scoring.transport", "the token does not travel in the clear")]
    return [
        warning(
            "scoring.transport",
            "the token travels over http in the clear",
            "use https outside of a cluster's own network",
        )
    ]
