"""Plans a sync: which pages to request, and what changes. Reads files and pages, writes nothing."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path

from gitops_dsf.errors import UsageError
from gitops_dsf.hub.drift import Config, ConfigError
from gitops_dsf.repository.files import read_text
from gitops_dsf.repository.model.declared import Declared, Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.scorer import DynamicScorer
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.repository.sources import load
from gitops_dsf.sync.credentials import PageRequest, on_hub, page_request
from gitops_dsf.sync.fetch import FetchedPage, Fetcher, PageFault, read_page
from gitops_dsf.sync.locks import LockResult, LockState, SyncPlan, lock_file, weigh
from gitops_dsf.urls.hosts import is_in_cluster
from gitops_dsf.urls.parts import host_of
from gitops_dsf.wording import did_you_mean


async def plan_sync(root: Path, *, fetcher: Fetcher, only: Collection[str] = ()) -> SyncPlan:
    """Requests the pages of all Full scorers, or of those named, concurrently.

    Raises RepositoryError for a folder that cannot be read or lacks files that git has, and
    UsageError for unknown names.
    """
    loaded = load(root)
    loaded.check_complete()
    declared = declare(loaded)
    scorers = _chosen(declared, only)
    locks = {item.name: item for item in declared.locks}
    texts = {
        file: read_text(root, file)
        for file in {lock_file(item.name, locks) for item in scorers}
        if (root / file).exists()
    }
    spec = declared.repository.value.spec if declared.repository is not None else None
    requests = {
        item.name: _request(
            item.value, locks.get(item.name), spec.allowed_token_hosts if spec else ()
        )
        for item in scorers
    }
    pages = await _ask(requests, fetcher)
    answers = {name: _read(page) for name, page in pages.items()}
    weighed = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
    others = _unreadable(declared, only) + ([] if only else _unused(declared))
    outcomes = sorted((*others, *weighed.outcomes), key=lambda found: (found.scorer, found.verdict))
    unreached = tuple(
        item
        for item in outcomes
        if item.scorer in pages
        and _is_service_out_of_reach(pages[item.scorer], requests[item.scorer].url)
    )
    return SyncPlan(outcomes=tuple(outcomes), files=weighed.files, unreached=unreached)


def _request(
    scorer: DynamicScorer, lock: Item[ScorerLock] | None, allowed: Collection[str]
) -> PageRequest:
    spec = scorer.spec
    locked = lock.value.spec.config.scoring.host if lock is not None else None
    return page_request(
        spec.config_url,
        auth=on_hub(spec.scoring.auth),
        scoring_url=locked or spec.scoring.host or spec.config_url,
        allowed=allowed,
    )


async def _ask(
    requests: Mapping[str, PageRequest], fetcher: Fetcher
) -> dict[str, FetchedPage | PageFault]:
    """Scorers that share a page and credentials share one request."""
    different = list(dict.fromkeys(requests.values()))
    pages = await asyncio.gather(*(fetcher.get(request) for request in different))
    answers = dict(zip(different, pages, strict=True))
    return {name: answers[request] for name, request in requests.items()}


def _is_service_out_of_reach(page: FetchedPage | PageFault, url: str) -> bool:
    host = host_of(url)
    no_way = isinstance(page, PageFault) and page.reason in {"DNS", "Connection", "Timeout"}
    return no_way and "." in host and is_in_cluster(host)


def _read(page: FetchedPage | PageFault) -> Config | str:
    if isinstance(page, PageFault):
        return page.message
    try:
        return read_page(page)
    except ConfigError as error:
        return str(error)


def _chosen(declared: Declared, only: Collection[str]) -> list[Item[DynamicScorer]]:
    known = {item.name: item for item in declared.scorers}
    for name in only:
        if name not in known and ("DynamicScorer", name) not in declared.left_out:
            hint = did_you_mean(name, known)
            msg = f"--scorer {name}: there is no DynamicScorer of this name" + (
                f"; {hint}" if hint else ""
            )
            raise UsageError(msg)
        if name in known and not known[name].value.spec.reads_config:
            msg = (
                f"--scorer {name}: it has {_without_page(known[name])}, so its /config page is not"
                " used"
            )
            raise UsageError(msg)
    return [
        item
        for name, item in sorted(known.items())
        if item.value.spec.reads_config and (not only or name in only)
    ]


def _unreadable(declared: Declared, only: Collection[str]) -> list[LockResult]:
    reason = (
        "the DynamicScorer has mistakes, so its page is not requested; gitops-dsf validate names"
        " them"
    )
    names = sorted(
        name
        for kind, name in declared.left_out
        if kind == "DynamicScorer" and name and (not only or name in only)
    )
    return [
        LockResult(
            scorer=name, verdict=LockState.REFUSED, file=f"locks/{name}.yaml", reasons=(reason,)
        )
        for name in names
    ]


def _unused(declared: Declared) -> list[LockResult]:
    """Locks that no scorer uses: the scorer does not exist, or reads no /config page any more."""
    scorers = {item.name: item for item in declared.scorers}
    found = []
    for item in declared.locks:
        name, scorer = item.name, scorers.get(item.name)
        if declared.may_exist("DynamicScorer", name) or (scorer and scorer.value.spec.reads_config):
            continue
        why = (
            f"the scorer has {_without_page(scorer)}"
            if scorer
            else "there is no DynamicScorer of this name"
        )
        reasons = (f"{why}: the lock is not read; remove it",)
        file = item.document.file
        found.append(LockResult(scorer=name, verdict=LockState.UNUSED, file=file, reasons=reasons))
    return found


def _without_page(item: Item[DynamicScorer]) -> str:
    """Why a scorer reads no /config page."""
    return "scoring.type Query" if item.value.spec.scored_by_query else "configSyncMode None"
