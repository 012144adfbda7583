"""Checks locks against specs: which value is used, and where metrics and tokens are sent."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final, NamedTuple

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.globs import matches
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.lock import ScorerLock
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.scorer import Scoring, Source, sends_token
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.urls.parts import host_of, origin
from gitops_dsf.wording import did_you_mean

_FIELDS: Final = (
    "source.type",
    "source.path",
    "source.params.query",
    "source.params.range",
    "source.params.step",
    "scoring.path",
    "scoring.params.name",
    "scoring.params.interval",
)
"""Fields that a lock may override. Hosts have their own rules."""


class _LockedHost(NamedTuple):
    """A host that the lock names."""

    section: str
    """`source` or `scoring`."""
    own: Source | Scoring
    """The section as people wrote it."""
    host: str


@rule(needs=("DynamicScorer",))
def locks_have_a_use(context: Context) -> Iterator[Diagnostic]:
    """A lock must belong to a Full scorer of the same name, with the same configURL."""
    for lock in context.declared.locks:
        scorer = context.scorers.get(lock.name)
        if scorer is None:
            yield codes.STALE_LOCK.at(
                lock.position,
                f"there is no DynamicScorer {lock.name} for this lock",
                did_you_mean(lock.name, context.scorers) or "remove the file",
            )
        else:
            yield from _unread(lock, scorer)


@rule(needs=("FleetRepository", "ScorerLock"))
def locks_are_there(context: Context) -> Iterator[Diagnostic]:
    """Without a lock a Full scorer uses its spec only.

    The upstream controller reads /config itself.
    """
    if context.is_upstream:
        return
    for scorer in context.scorers.values():
        # Scorers with configSyncMode None never read /config.
        if not scorer.spec.reads_config or scorer.lock is not None:
            continue
        missing: dict[str, None] = {}
        for variant in context.variants[scorer.name]:
            missing |= dict.fromkeys(f"spec.{field}" for field in variant.missing)
        name = scorer.name
        message = (
            f"{name} has configSyncMode Full and no lock: what its /config says is not known; the"
            " spec alone counts"
        )
        if missing:
            message = (
                f"{name} has configSyncMode Full and no lock: it is left out until a lock says"
                f" {', '.join(missing)}"
            )
        yield codes.NO_LOCK.at(
            scorer.declared.at("spec", "configSyncMode"),
            message,
            f"run gitops-dsf sync --scorer {name}, or write configSyncMode: None",
        )


@rule()
def locks_do_not_overrule(context: Context) -> Iterator[Diagnostic]:
    """With Full, the lock overrides the spec.

    The author of a different value in the spec should know.
    """
    for scorer in context.scorers.values():
        for field in _FIELDS:
            own_value = attrgetter(field)(scorer.declared.value.spec)
            effective = attrgetter(field)(scorer.spec)
            if not scorer.is_locked(field) or not own_value or own_value == effective:
                continue
            path = ("spec", *field.split("."))
            yield codes.LOCK_OVERRULES.at(
                scorer.declared.at(*path),
                f"{dotted(path)} is {own_value} here, but the lock says {effective}"
                f" ({scorer.at(field)}), which takes precedence",
                "remove the field, or write configSyncMode: None",
            )


@rule()
def locks_get_no_tokens(context: Context) -> Iterator[Diagnostic]:
    """A scoring API could collect the tokens of all clusters, by a host that a lock names."""
    for scorer in context.scorers.values():
        for section, own, host in _locked_hosts(scorer):
            # The lock says what /config says, and whoever controls that could collect tokens.
            if _is_same_host(host, own.host) or not sends_token(own.auth):
                continue
            yield codes.LOCK_WITH_TOKEN.at(
                scorer.declared.at("spec", section, "auth"),
                f"{section}.auth would send a token to {host}, a host that only the lock names",
                f"write {section}.host: {host} into the scorer if that is where the token may go",
            )


@rule(needs=("FleetRepository",))
def locks_keep_to_known_hosts(context: Context) -> Iterator[Diagnostic]:
    """A lock may use other hosts than the scorer only if spec.allowedHosts contains them."""
    allowed = context.settings.allowed_hosts
    for scorer in context.scorers.values():
        for section, own, locked_url in _locked_hosts(scorer):
            # Without a scoring host, the origin of configURL is used. Without a source host, there
            # is nothing to compare.
            own_url = own.host
            if not own_url and section == "scoring":
                own_url = scorer.spec.config_url
            if not own_url:
                continue
            host = host_of(locked_url) or locked_url
            own_host = host_of(own_url) or own_url
            if host == own_host or any(matches(host, pattern) for pattern in allowed):
                continue
            data = "metrics" if section == "scoring" else "queries"
            yield codes.LOCK_MOVES_HOST.at(
                scorer.at(f"{section}.host"),
                f"the lock of {scorer.name} sends {data} to {host} instead of {own_host}",
                f"write {section}.host: {locked_url} into the scorer, or add {host} to"
                " spec.allowedHosts in gitops-dsf.yaml",
            )


def _unread(lock: Item[ScorerLock], scorer: EffectiveScorer) -> Iterator[Diagnostic]:
    """The reason why a lock is not read, although its scorer exists."""
    spec = scorer.spec
    locked_url = lock.value.spec.config_url
    if spec.scored_by_query:
        yield codes.STALE_LOCK.at(
            lock.position,
            f"{lock.name} has scoring.type Query and no scoring API: this lock is not read",
            "remove the file",
        )
    elif spec.config_sync_mode == "None":
        yield codes.STALE_LOCK.at(
            lock.position,
            f"{lock.name} has configSyncMode None: this lock is not read",
            "remove the file, or write configSyncMode: Full",
        )
    elif locked_url != spec.config_url:
        yield codes.STALE_LOCK.at(
            lock.at("spec", "configURL"),
            f"this lock was taken from {locked_url}; the scorer now names {spec.config_url}",
            f"run gitops-dsf sync --scorer {lock.name}",
        )


def _is_same_host(host: str, other: str) -> bool:
    """Whether two base URLs have one scheme, host and port."""
    host_origin = origin(host).lower()
    return host == other or (bool(host_origin) and host_origin == origin(other).lower())


def _locked_hosts(scorer: EffectiveScorer) -> Iterator[_LockedHost]:
    """The hosts that the lock names, with what people wrote beside them."""
    own = scorer.declared.value.spec
    if scorer.is_locked("source.host"):
        yield _LockedHost("source", own.source, scorer.spec.source.host)
    if scorer.is_locked("scoring.host"):
        yield _LockedHost("scoring", own.scoring, scorer.spec.scoring.host)
