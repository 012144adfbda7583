"""The verification of moves in the annotation of a paced application's Placement."""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.repository.model.base import Authored
from gitops_dsf.repository.model.scored_application import MoveCheck, ScoredApplication
from gitops_dsf.resolve.ranked_scores import publication_delay
from gitops_dsf.resolve.scorer import EffectiveScorer


def verification_of(
    application: ScoredApplication, variants: Mapping[str, tuple[EffectiveScorer, ...]]
) -> Verification | None:
    """The verification of an application with checks; None if a reference is invalid.

    `variants` are all scorers by name, each with the variants of its MetricSource.
    """
    moves = application.spec.moves
    checks: list[VerifiedBy] = []
    for check in moves.verify:
        compared = verified_by(check, variants)
        if compared is None:
            return None
        checks.append(compared)
    return Verification(
        checks=tuple(checks),
        seconds=float(moves.verify_seconds),
        on_unknown=moves.on_unknown,
        hold_seconds=float(moves.hold_seconds),
        revision=_revision(application, variants),
    )


def verified_by(
    check: MoveCheck, variants: Mapping[str, tuple[EffectiveScorer, ...]]
) -> VerifiedBy | None:
    """The comparison that the reconciler makes for a check; None if its reference is invalid."""
    forms = variants.get(check.scorer)
    if not forms or not forms[0].score_name:
        return None
    # Variants differ in where they ask, not in what is published and when.
    scorer = forms[0]
    dimension = check.dimension or scorer.only_item
    if dimension is None:
        return None
    return VerifiedBy(
        scorer=scorer.name,
        resource=scorer.resource_name,
        dimension=dimension,
        at_least=check.at_least,
        no_worse_than=check.no_worse_than,
        for_seconds=float(check.for_seconds),
        delay=publication_delay(scorer.spec),
        # A query such as avg_over_time(x[1h]) still shows what was before the move after 59
        # minutes.
        range=float(scorer.history_seconds),
        lifetime=float(scorer.ttl_seconds),
    )


def digest_of(written: Iterable[Authored]) -> str:
    """Twelve characters that change with what people wrote."""
    values = [model.model_dump(mode="json") for model in written]
    content = msgspec.json.encode(values, order="deterministic")
    return hashlib.sha256(content).hexdigest()[:12]


def _revision(
    application: ScoredApplication, variants: Mapping[str, tuple[EffectiveScorer, ...]]
) -> str:
    """A digest of the application and its scorers: when it changes, holds end."""
    spec = application.spec
    names = {check.scorer for check in spec.moves.verify}
    names.update(score.scorer for score in spec.scores if score.scorer is not None)
    models: list[Authored] = [spec]
    for name in sorted(names):
        models += [form.spec for form in variants.get(name, ())]
    return digest_of(models)
