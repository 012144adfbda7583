"""Checks that everything that rendering needs is present."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.durations import HOST_HINT


def settings_are_there(context: Context) -> Iterator[Diagnostic]:
    """gitops-dsf.yaml must contain one FleetRepository."""
    declared = context.declared
    if declared.repository is None and not any(item.code == codes.EMPTY.id for item in declared.diagnostics):
        message = f"{SETTINGS_FILE} with a FleetRepository is missing"
        yield codes.SETTINGS.at(
            Position(file=SETTINGS_FILE), message, "gitops-dsf init DIR shows what it looks like"
        )


def scorers_are_complete(context: Context) -> Iterator[Diagnostic]:
    """A scorer must be complete, unless its /config is still unknown."""
    for scorer in context.each_variant:
        if context.waits_for_lock(scorer):
            continue
        for field in scorer.missing:
            last = field.rpartition(".")[2]
            if last in {"interval", "step"} and scorer.has(field):
                continue  # written as 0, which another rule reports
            if last == "host" and not scorer.scored_by_query:
                continue  # it would be the host of configURL, which is not a URL; another rule reports that
            because = (
                "and its lock does not say it either"
                if scorer.lock is not None
                else "and without it the scorer cannot run"
            )
            yield codes.INCOMPLETE_SCORER.at(
                scorer.at(field), f"spec.{field} is missing, {because}", _HINTS[last]
            )


def locks_are_there(context: Context) -> Iterator[Diagnostic]:
    """A Full scorer without a lock uses its spec only, or does not run. The upstream controller needs no
    lock, because it reads /config itself.
    """
    if context.is_upstream:
        return
    for scorer in context.scorers.values():
        if not scorer.spec.reads_config or scorer.lock is not None:
            continue
        lacking = (f"spec.{field}" for each in context.variants[scorer.name] for field in each.missing)
        missing = ", ".join(dict.fromkeys(lacking))
        effect = (
            f"it is left out until one says {missing}"
            if missing
            else "what its /config says is not known; the spec alone counts"
        )
        message = f"{scorer.name} has configSyncMode Full and no lock: {effect}"
        hint = f"run gitops-dsf sync --scorer {scorer.name}, or write configSyncMode: None"
        yield codes.NO_LOCK.at(scorer.declared.at("spec", "configSyncMode"), message, hint)


_HINTS = {
    "host": HOST_HINT,
    "interval": "write the seconds between two runs, such as interval: 60",
    "name": "write the score's name, such as name: cpu-forecast",
    "query": "write a PromQL expression",
    "step": "write the seconds between two points of a series, such as step: 60",
}
