"""Checks that everything that rendering needs is present."""

from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, Position, codes
from gitops_dsf.repository.load import SETTINGS_FILE
from gitops_dsf.repository.model.mistake import dotted
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
    for overlay in context.each_variant:
        if context.waits_for_lock(overlay.scorer):
            continue
        for setting in overlay.missing():
            name = dotted(setting.path)
            if setting.path[-1] in {"interval", "step"} and setting.document.has(setting.path):
                continue  # written as 0, which another rule reports
            if setting.path[-1] == "host" and not overlay.scored_by_query:
                continue  # it would be the host of configURL, which is not a URL; another rule reports that
            because = (
                "and its lock does not say it either"
                if overlay.lock is not None
                else "and without it the scorer cannot run"
            )
            yield codes.INCOMPLETE_SCORER.at(
                setting.position, f"{name} is missing, {because}", _HINTS[str(setting.path[-1])]
            )


def locks_are_there(context: Context) -> Iterator[Diagnostic]:
    """A Full scorer without a lock uses its spec only, or does not run. The upstream controller needs no
    lock, because it reads /config itself.
    """
    if context.is_upstream:
        return
    for overlay in context.overlays.values():
        if not overlay.scorer.value.spec.reads_config or overlay.lock is not None:
            continue
        lacking = dict.fromkeys(
            dotted(setting.path)
            for each in context.variants[overlay.scorer.name]
            for setting in each.missing()
        )
        missing = ", ".join(lacking)
        effect = (
            f"it is left out until one says {missing}"
            if missing
            else "what its /config says is not known; the spec alone counts"
        )
        message = f"{overlay.scorer.name} has configSyncMode Full and no lock: {effect}"
        hint = f"run gitops-dsf sync --scorer {overlay.scorer.name}, or write configSyncMode: None"
        yield codes.NO_LOCK.at(overlay.scorer.at("spec", "configSyncMode"), message, hint)


_HINTS = {
    "host": HOST_HINT,
    "interval": "write the seconds between two runs, such as interval: 60",
    "name": "write the score's name, such as name: cpu-forecast",
    "query": "write a PromQL expression",
    "step": "write the seconds between two points of a series, such as step: 60",
}
