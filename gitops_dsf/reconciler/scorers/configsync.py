"""Whether /config still says what was accepted: the page against the rendered DynamicScorer, field by field. Pure."""

from dataclasses import dataclass
from typing import Any

import msgspec

from dsf_wire.query import split
from gitops_dsf.reconciler.hub.scorers import Scorer
from gitops_dsf.resolve.promql import check
from gitops_dsf.sync.config import Config, ConfigError, flat
from gitops_dsf.sync.fetch import Fault, Page
from gitops_dsf.sync.page import read_page
from gitops_dsf.sync.text import shown


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigSync:
    """Outcome of one look at /config; `config` is None where it was not understood."""

    status: str
    reason: str
    """InSync, Drifted, Invalid or Unreachable."""
    message: str
    config: Config | None = None


def compare(scorer: Scorer, answer: Page | Fault) -> ConfigSync:
    """A field that the page leaves empty is the spec's affair, so only fields that it fills can drift."""
    if isinstance(answer, Fault):
        return ConfigSync(status="Unknown", reason="Unreachable", message=answer.message)
    try:
        config = read_page(answer)
    except ConfigError as error:
        return ConfigSync(status="False", reason="Invalid", message=str(error))
    query = str(config.get("source", {}).get("params", {}).get("query", ""))
    for part in split(query):
        wrong = [mistake for mistake in check(part.text).mistakes if mistake.kind != "function"]
        if wrong:
            return ConfigSync(status="False", reason="Invalid", message=f"PromQL of /config: {wrong[0].message}", config=config)
    accepted = _accepted(scorer)
    differing = [
        f"{field} is {shown(value, most=80)} instead of {shown(accepted[field], most=80)}"
        for field, value in flat(config).items()
        if field in accepted and value != accepted[field]
    ]
    if differing:
        message = f"/config differs from what was accepted: {'; '.join(differing)}. Run gitops-dsf sync in the fleet repository"
        return ConfigSync(status="False", reason="Drifted", message=message, config=config)
    return ConfigSync(status="True", reason="InSync", message="/config says what was accepted", config=config)


def _accepted(scorer: Scorer) -> dict[str, Any]:
    spec = msgspec.to_builtins(scorer.spec)
    source, scoring = spec["source"], spec["scoring"]
    for endpoint, foreign in ((source, ("name", "interval")), (scoring, ("query", "range", "step"))):
        endpoint["params"] = {key: value for key, value in endpoint["params"].items() if key not in foreign}
    del scoring["type"]
    return flat({"source": source, "scoring": scoring})
