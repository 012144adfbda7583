"""Makes locks from a hub. The controller keeps a scorer's /config in the scorer's status, which is what a
lock holds. Pure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.load import Loaded
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.sync import SyncPlan
from gitops_dsf.sync.config import ConfigError, read_config
from gitops_dsf.sync.weigh import lock_file, weigh


@dataclass(frozen=True, kw_only=True, slots=True)
class Synced:
    """The status.lastSyncedConfig of a DynamicScorer with configSyncMode Full, and the page that it was read
    from.
    """

    config_url: str
    config: object


def synced(data: Mapping[str, Any]) -> Synced | None:
    """Returns what the hub knows of a scorer's /config; None if the page is not used or was never read."""
    spec, status = data.get("spec"), data.get("status")
    if (
        not isinstance(spec, Mapping)
        or not isinstance(status, Mapping)
        or spec.get("configSyncMode") != "Full"
    ):
        return None
    config = status.get("lastSyncedConfig")
    return Synced(config_url=str(spec.get("configURL")), config=config) if config is not None else None


def locks(
    loaded: Loaded, *, read: Callable[[str], str], known: Mapping[str, Synced], overwrite: bool
) -> SyncPlan:
    """Plans new locks for a repository that already has the imported scorers, by the rules of `gitops-dsf
    sync`.

    People accepted the locks that git has, so these stay unless they are to be overwritten. A page that git's
    scorer does not name is ignored. `read` returns the text of a file of the repository; empty if it is
    missing.
    """
    declared = declare(loaded)
    locked = {item.name: item for item in declared.locks}
    answers: dict[str, Config | str] = {}
    for item in declared.scorers:
        found, spec = known.get(item.name), item.value.spec
        if found is None or not spec.reads_config or found.config_url != spec.config_url:
            continue
        if overwrite or item.name not in locked:
            answers[item.name] = _answer(item.name, found)
    texts = {file: text for file in {lock_file(name, locked) for name in answers} if (text := read(file))}
    return weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)


def _answer(name: str, found: Synced) -> Config | str:
    try:
        return read_config(found.config, where=f"status.lastSyncedConfig of DynamicScorer {name}")
    except ConfigError as error:
        return str(error)
