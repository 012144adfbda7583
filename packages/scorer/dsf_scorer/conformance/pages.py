"""Checks the public pages /healthz and /config."""

from typing import Final

import msgspec

from dsf_scorer.conformance import config
from dsf_scorer.conformance.config import JudgeQuery
from dsf_scorer.conformance.exchange import Client, Reply
from dsf_scorer.conformance.finding import Finding, error, ok, warning
from dsf_scorer.conformance.target import Target
from dsf_wire.scoring import ScorerConfig

MAX_CONFIG_BYTES: Final = 1024 * 1024
SLOW_SECONDS: Final = 5.0


def trouble(check: str, reply: Reply) -> Finding | None:
    """Finds problems of any response: none at all, a redirect, or a server error."""
    if reply.fault:
        return error(check, reply.fault)
    if 300 <= reply.status < 400:
        where = reply.headers.get("location", "nowhere")
        return error(
            check,
            f"{reply.status} redirects to {where}",
            "agents follow no redirect, because a token must not travel; use the final URL",
        )
    if reply.status >= 500:
        return error(
            check,
            f"answers {reply.status}{excerpt(reply)}",
            "a 5xx means that the scoring API itself failed; see its log",
        )
    return None


def excerpt(reply: Reply) -> str:
    """The start of the response's text, on one line."""
    text = " ".join(reply.body[:300].decode(errors="replace").split())[:160]
    return f": {text}" if text else ""


def healthz(client: Client, target: Target) -> list[Finding]:
    """Checks /healthz. The reconciler treats a scorer as healthy if it answers 200."""
    reply = client.send("GET", target.health_url, headers={})
    wrong = trouble("healthz", reply)
    if wrong is not None:
        return [wrong]
    if reply.status != 200:
        return [
            error(
                "healthz",
                f"{target.health_url} answers {reply.status}",
                "answer 200 without a token while the scoring API can score",
            )
        ]
    if reply.seconds > SLOW_SECONDS:
        return [
            warning(
                "healthz",
                f"answers 200 after {reply.seconds:.1f} s",
                "health checks give up early; answer at once",
            )
        ]
    return [ok("healthz", f"answers 200 in {reply.seconds * 1000:.0f} ms")]


def config_page(
    client: Client, target: Target, *, required: bool, judge_query: JudgeQuery
) -> tuple[ScorerConfig | None, list[Finding]]:
    """Checks /config. A missing page is an error only if it is required (configSyncMode Full)."""
    reply = client.send("GET", target.config_url, headers={})
    wrong = trouble("config", reply)
    if wrong is not None:
        return None, [wrong]
    if reply.status == 404 and not required:
        return None, [ok("config", "there is none; configSyncMode None needs none")]
    if reply.status != 200:
        hint = (
            "the page is public; without it use configSyncMode None"
            if reply.status in {401, 403, 404}
            else ""
        )
        return None, [error("config", f"{target.config_url} answers {reply.status}{excerpt(reply)}", hint)]
    if len(reply.body) > MAX_CONFIG_BYTES:
        return None, [
            error("config", f"the page has {len(reply.body)} bytes", f"at most {MAX_CONFIG_BYTES} are read")
        ]
    try:
        plain = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        return None, [error("config", f"the page is not JSON: {problem}")]
    findings = [ok("config", f"answers 200 in {reply.seconds * 1000:.0f} ms")]
    if reply.media != "application/json":
        findings.append(
            warning(
                "config.content-type",
                f"the content type is {reply.media or 'absent'}",
                "send application/json",
            )
        )
    page, more = config.judge(plain, target=target, judge_query=judge_query)
    return page, [*findings, *more]
