"""Checks locks against specs: which value is used, and where metrics and tokens are sent."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.glob import matches
from gitops_dsf.hub.urls import host_of, origin
from gitops_dsf.repository.model.mistake import dotted
from gitops_dsf.repository.model.scorer import Scoring, Source, sends_token
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.wording import did_you_mean


@rule(needs=("DynamicScorer",))
def locks_have_a_use(context: Context) -> Iterator[Diagnostic]:
    """A lock must belong to a Full scorer of the same name, with the same configURL."""
    for item in context.declared.locks:
        scorer = context.scorers.get(item.name)
        if scorer is None:
            hint = did_you_mean(item.name, context.scorers) or "remove the file"
            position = item.position
            yield codes.STALE_LOCK.at(
                position, f"there is no DynamicScorer {item.name} for this lock", hint
            )
            continue
        spec = scorer.spec
        if spec.scored_by_query:
            message = (
                f"{item.name} has scoring.type Query and no scoring API: this lock is not read"
            )
            yield codes.STALE_LOCK.at(item.position, message, "remove the file")
        elif spec.config_sync_mode == "None":
            message = f"{item.name} has configSyncMode None: this lock is not read"
            position = item.position
            yield codes.STALE_LOCK.at(
                position, message, "remove the file, or write configSyncMode: Full"
            )
        elif item.value.spec.config_url != spec.config_url:
            now = f"the scorer now names {spec.config_url}"
            message = f"this lock was taken from {item.value.spec.config_url}; {now}"
            hint = f"run gitops-dsf sync --scorer {item.name}"
            yield codes.STALE_LOCK.at(item.at("spec", "configURL"), message, hint)


@rule(needs=("FleetRepository", "ScorerLock"))
def locks_are_there(context: Context) -> Iterator[Diagnostic]:
    """Without a lock a Full scorer uses its spec only. The upstream controller reads /config itself."""
    if context.is_upstream:
        return
    for scorer in context.scorers.values():
        if not scorer.spec.reads_config or scorer.lock is not None:
            continue
        lacking = (
            f"spec.{field}" for each in context.variants[scorer.name] for field in each.missing
        )
        missing = ", ".join(dict.fromkeys(lacking))
        effect = "what its /config says is not known; the spec alone counts"
        effect = f"it is left out until one says {missing}" if missing else effect
        message = f"{scorer.name} has configSyncMode Full and no lock: {effect}"
        hint = f"run gitops-dsf sync --scorer {scorer.name}, or write configSyncMode: None"
        yield codes.NO_LOCK.at(scorer.declared.at("spec", "configSyncMode"), message, hint)


@rule()
def locks_do_not_overrule(context: Context) -> Iterator[Diagnostic]:
    """With Full, the lock overrides the spec. The author of a different value in the spec should know."""
    for scorer in context.scorers.values():
        for field in _FIELDS.split():
            written, said = (
                attrgetter(field)(spec) for spec in (scorer.declared.value.spec, scorer.spec)
            )
            if not scorer.is_locked(field) or not written or written == said:
                continue
            path = ("spec", *field.split("."))
            lock = f"the lock says {said} ({scorer.at(field)}), and that counts"
            message, hint = f"{dotted(path)} is {written} here, but {lock}", "remove the field"
            hint = f"{hint}, or write configSyncMode: None"
            yield codes.LOCK_OVERRULES.at(scorer.declared.at(*path), message, hint)


@rule()
def locks_get_no_tokens(context: Context) -> Iterator[Diagnostic]:
    """Otherwise a scoring API could collect the tokens of all clusters, by a host that a lock names."""
    for scorer in context.scorers.values():
        for section, written, said in _locked_hosts(scorer):
            there = origin(said).lower()
            same = said == written.host or (there and there == origin(written.host).lower())
            if same or not sends_token(written.auth):
                continue
            message = (
                f"{section}.auth would send a token to {said}, a host that only the lock names"
            )
            hint = f"write {section}.host: {said} into the scorer if that is where the token may go"
            yield codes.LOCK_WITH_TOKEN.at(
                scorer.declared.at("spec", section, "auth"), message, hint
            )


@rule(needs=("FleetRepository",))
def locks_keep_to_known_hosts(context: Context) -> Iterator[Diagnostic]:
    """A lock may use other hosts than the scorer only if spec.allowedHosts contains them."""
    allowed = context.settings.allowed_hosts
    for scorer in context.scorers.values():
        for section, written, said in _locked_hosts(scorer):
            # Without a scoring host, the origin of configURL is used. Without a source host, there is nothing
            # to compare.
            before = written.host or (scorer.spec.config_url if section == "scoring" else "")
            host, known = (host_of(url) or url for url in (said, before))
            if not before or host == known or any(matches(host, pattern) for pattern in allowed):
                continue
            what = "metrics" if section == "scoring" else "queries"
            message = f"the lock of {scorer.name} sends {what} to {host} instead of {known}"
            add = f"add {host} to spec.allowedHosts in gitops-dsf.yaml"
            hint = f"write {section}.host: {said} into the scorer, or {add}"
            yield codes.LOCK_MOVES_HOST.at(scorer.at(f"{section}.host"), message, hint)


_FIELDS: Final = (
    "source.type source.path source.params.query source.params.range source.params.step scoring.path"
    " scoring.params.name scoring.params.interval"
)
"""Fields that a lock may override. Hosts have their own rules."""


def _locked_hosts(scorer: EffectiveScorer) -> Iterator[tuple[str, Source | Scoring, str]]:
    """For each host that the lock says: its section, what people wrote there, and the host."""
    written = scorer.declared.value.spec
    if scorer.is_locked("source.host"):
        yield "source", written.source, scorer.spec.source.host
    if scorer.is_locked("scoring.host"):
        yield "scoring", written.scoring, scorer.spec.scoring.host
