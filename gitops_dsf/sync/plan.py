"""Plans a sync: the pages to request, and the changes. Reads files and pages, writes nothing."""

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
from gitops_dsf.sync.fetch import Fetcher
from gitops_dsf.sync.lockfile import lock_file
from gitops_dsf.sync.locks import LockResult, LockState, SyncPlan, weigh
from gitops_dsf.sync.page import FetchedPage, PageFault, read_page
from gitops_dsf.sync.requests import PageRequest, on_hub, page_request
from gitops_dsf.urls.hosts import is_in_cluster
from gitops_dsf.urls.parts import host_of
from gitops_dsf.wording import did_you_mean


async def plan_sync(root: Path, *, fetcher: Fetcher, only: Collection[str] = ()) -> SyncPlan:
    """Requests the pages of all Full scorers, or of those named, concurrently.

    Raises RepositoryError for a folder that cannot be read or lacks files that git has, and
    UsageError for unknown names.
    """
    loaded = load(root)
    # A submodule or a sparse checkout may lack scorers: their locks would look unused.
    loaded.check_complete()
    declared = declare(loaded)
    scorers = _chosen(declared, only)
    requests = _requests(declared, scorers)
    pages = await _ask(requests, fetcher)
    answers = {name: _read(page) for name, page in pages.items()}
    texts = _lock_texts(root, declared, scorers)
    weighed = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
    outcomes = [*_unreadable(declared, only), *weighed.outcomes]
    # A user who asks for one scorer does not want to hear of the others.
    if not only:
        outcomes += _unused(declared)
    outcomes.sort(key=lambda result: (result.scorer, result.verdict))
    unreached = []
    for result in outcomes:
        page = pages.get(result.scorer)
        if page is not None and _is_service_out_of_reach(page, requests[result.scorer].url):
            unreached.append(result)
    return SyncPlan(outcomes=tuple(outcomes), files=weighed.files, unreached=tuple(unreached))


def _lock_texts(
    root: Path, declared: Declared, scorers: Collection[Item[DynamicScorer]]
) -> dict[str, str]:
    """The texts of the lock files that exist, by path."""
    locks = {lock.name: lock for lock in declared.locks}
    files = {lock_file(scorer.name, locks) for scorer in scorers}
    return {file: read_text(root, file) for file in files if (root / file).exists()}


def _requests(
    declared: Declared, scorers: Collection[Item[DynamicScorer]]
) -> dict[str, PageRequest]:
    """The request for the page of each scorer, by name."""
    locks = {lock.name: lock for lock in declared.locks}
    allowed: Collection[str] = ()
    if declared.repository is not None:
        allowed = declared.repository.value.spec.allowed_token_hosts
    requests: dict[str, PageRequest] = {}
    for scorer in scorers:
        requests[scorer.name] = _request(scorer.value, locks.get(scorer.name), allowed)
    return requests


def _request(
    scorer: DynamicScorer, lock: Item[ScorerLock] | None, allowed: Collection[str]
) -> PageRequest:
    spec = scorer.spec
    # Until a first lock says it, the scoring API is taken to be where its page is.
    locked_host = lock.value.spec.config.scoring.host if lock is not None else None
    return page_request(
        spec.config_url,
        auth=on_hub(spec.scoring.auth),
        scoring_url=locked_host or spec.scoring.host or spec.config_url,
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
    """Whether the page is that of a Service, which a laptop does not reach."""
    host = host_of(url)
    is_unreached = isinstance(page, PageFault) and page.reason in {"DNS", "Connection", "Timeout"}
    # A name without a dot may also be one of the local network.
    return is_unreached and "." in host and is_in_cluster(host)


def _read(page: FetchedPage | PageFault) -> Config | str:
    """The configuration of a page, or why there is none."""
    if isinstance(page, PageFault):
        return page.message
    try:
        return read_page(page)
    except ConfigError as error:
        return str(error)


def _chosen(declared: Declared, only: Collection[str]) -> list[Item[DynamicScorer]]:
    """The scorers whose pages are asked, by name. Raises UsageError."""
    scorers = {scorer.name: scorer for scorer in declared.scorers}
    for name in only:
        scorer = scorers.get(name)
        if scorer is not None and not scorer.value.spec.reads_config:
            raise UsageError(
                f"--scorer {name}: it has {_why_without_page(scorer)}, so its /config page is not"
                " used"
            )
        if scorer is None and ("DynamicScorer", name) not in declared.left_out:
            hint = did_you_mean(name, scorers)
            if hint:
                raise UsageError(f"--scorer {name}: there is no DynamicScorer of this name; {hint}")
            raise UsageError(f"--scorer {name}: there is no DynamicScorer of this name")
    chosen = []
    for name, scorer in sorted(scorers.items()):
        if scorer.value.spec.reads_config and (not only or name in only):
            chosen.append(scorer)
    return chosen


def _unreadable(declared: Declared, only: Collection[str]) -> list[LockResult]:
    """Results of the scorers that have mistakes."""
    results = []
    for kind, name in sorted(declared.left_out):
        if kind != "DynamicScorer" or not name or (only and name not in only):
            continue
        reason = (
            "the DynamicScorer has mistakes, so its page is not requested; gitops-dsf validate"
            " names them"
        )
        file = f"locks/{name}.yaml"
        results.append(
            LockResult(scorer=name, verdict=LockState.REFUSED, file=file, reasons=(reason,))
        )
    return results


def _unused(declared: Declared) -> list[LockResult]:
    """Locks that no scorer uses: the scorer does not exist, or reads no /config page any more."""
    scorers = {scorer.name: scorer for scorer in declared.scorers}
    results = []
    for lock in declared.locks:
        scorer = scorers.get(lock.name)
        # A scorer with mistakes may use it.
        if declared.may_exist("DynamicScorer", lock.name):
            continue
        if scorer is None:
            reason = "there is no DynamicScorer of this name: the lock is not read; remove it"
        elif not scorer.value.spec.reads_config:
            reason = f"the scorer has {_why_without_page(scorer)}: the lock is not read; remove it"
        else:
            continue
        file = lock.document.file
        results.append(
            LockResult(scorer=lock.name, verdict=LockState.UNUSED, file=file, reasons=(reason,))
        )
    return results


def _why_without_page(item: Item[DynamicScorer]) -> str:
    """The reason why a scorer reads no /config page."""
    return "scoring.type Query" if item.value.spec.scored_by_query else "configSyncMode None"
