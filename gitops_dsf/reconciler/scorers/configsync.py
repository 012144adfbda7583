"""Whether /config still says what was accepted: compares the page with the rendered DynamicScorer, field by
field. Pure.
"""

from dataclasses import dataclass
from typing import Any

from dsf_wire.query import split
from dsf_wire.text import printable
from gitops_dsf.hub.drift import Change, Config, accepted_by, drift, flat, last_synced
from gitops_dsf.hub.scorers import DynamicScorer
from gitops_dsf.resolve.promql.check import check
from gitops_dsf.sync.config import ConfigError
from gitops_dsf.sync.fetch import Fault, Page, read_page


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigSync:
    """The condition ConfigSynced. `config` is None when the page could not be read."""

    status: str
    reason: str
    """InSync, Drifted, Invalid or Unreachable."""
    message: str
    config: Config | None = None


def compare(scorer: DynamicScorer, answer: Page | Fault) -> ConfigSync:
    """Compares the page with the accepted settings. A field that the page changes, adds or drops
    has drifted.
    """
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
            return ConfigSync(
                status="False",
                reason="Invalid",
                message=f"PromQL of /config: {wrong[0].message}",
                config=config,
            )
    page = flat(config)
    accepted = accepted_by(scorer, page)
    # The page's name and description are not settings of a rendered scorer.
    differing = drift(accepted, {field: value for field, value in page.items() if field in accepted})
    if differing:
        words = "; ".join(map(_words, differing))
        message = (
            f"/config differs from the accepted settings: {words}. Run gitops-dsf sync in the fleet"
            " repository"
        )
        dropped = {item.field: item.before for item in differing if item.after is None}
        return ConfigSync(
            status="False", reason="Drifted", message=message, config=last_synced(page, dropped)
        )
    message = "/config says what was accepted"
    return ConfigSync(status="True", reason="InSync", message=message, config=config)


def _words(found: Change) -> str:
    if found.after is None:
        return f"{found.field} is missing, and was {_short(found.before)}"
    return f"{found.field} is {_short(found.after)} instead of {_short(found.before)}"


def _short(value: Any) -> str:  # noqa: ANN401 - whatever a field holds
    return printable(value, most=80)
