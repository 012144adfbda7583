"""Makes locks from a hub. The controller keeps a scorer's /config in the scorer's status, which is what a
lock holds. Pure.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gitops_dsf.hub.drift import Config
from gitops_dsf.repository.load import Loaded, value_at
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.sync import SyncPlan
from gitops_dsf.sync.config import ConfigError, read_config
from gitops_dsf.sync.weigh import lock_file, weigh

Synced = tuple[str, object]
"""URL of the /config page of a DynamicScorer with configSyncMode Full, and status.lastSyncedConfig."""


def synced(data: Mapping[str, Any]) -> Synced | None:
    """Returns what the hub knows of a scorer's /config; None if the page is not used or was never read."""
    config = value_at(data, ("status", "lastSyncedConfig"))
    if config is None or value_at(data, ("spec", "configSyncMode")) != "Full":
        return None
    return str(value_at(data, ("spec", "configURL"))), config


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
        if found is None or not spec.reads_config or found[0] != spec.config_url:
            continue
        if overwrite or item.name not in locked:
            try:
                where = f"status.lastSyncedConfig of DynamicScorer {item.name}"
                answers[item.name] = read_config(found[1], where=where)
            except ConfigError as error:
                answers[item.name] = str(error)
    texts = {file: text for file in {lock_file(name, locked) for name in answers} if (text := read(file))}
    return weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
