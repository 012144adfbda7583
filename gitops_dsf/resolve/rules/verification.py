"""Checks verified moves: they must be able to return, and each check must be decidable."""

from collections.abc import Iterator
from math import ceil
from typing import Final

from gitops_dsf.diagnostics import Diagnostic, Severity, codes
from gitops_dsf.hub.pace import VerifiedBy
from gitops_dsf.repository.load import FieldPath
from gitops_dsf.repository.model.declared import Item
from gitops_dsf.repository.model.scored_application import (
    MAX_VERIFY_SECONDS,
    MoveCheck,
    ScoredApplication,
)
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.eligibility import eligible
from gitops_dsf.resolve.rules.registry import rule
from gitops_dsf.resolve.scorer import EffectiveScorer
from gitops_dsf.resolve.verifications import verified_by
from gitops_dsf.wording import names_text

_VERIFY: Final[FieldPath] = ("spec", "moves", "verify")


@rule(needs=("FleetRepository",))
def verified_moves_are_paced(context: Context) -> Iterator[Diagnostic]:
    """Only a paced application can be sent back, and only make before break keeps both copies."""
    for application in context.declared.applications:
        moves = application.value.spec.moves
        if not moves.verify:
            continue
        yield from _without_pace(context, application)
        if moves.strategy == "Replace":
            yield codes.VERIFICATION_WITHOUT_PACE.at(
                application.at("spec", "moves", "strategy"),
                f"{application.name} verifies its moves, and with strategy Replace the old copy is"
                " deleted when the new one is created",
                "write strategy: MakeBeforeBreak, or remove verify",
            )
        elif moves.strategy == "Keep":
            yield codes.VERIFICATION_WITHOUT_PACE.at(
                application.at("spec", "moves", "strategy"),
                f"{application.name} verifies its moves, and with strategy Keep the old copy stays"
                " whatever the checks say",
                "write strategy: MakeBeforeBreak, or remove verify",
            )


@rule()
def checks_are_decided_in_time(context: Context) -> Iterator[Diagnostic]:
    """A score must have measured the new copy, and must then hold, within verifySeconds."""
    for application, path, check in context.verified:
        scorer = context.complete.get(check.scorer)
        compared = verified_by(check, context.by_variant)
        if scorer is None or compared is None:
            continue
        seconds = application.value.spec.moves.verify_seconds
        if compared.decided_after <= seconds:
            continue
        needed = ceil(compared.decided_after)
        position = application.at(*path, "scorer")
        hint = f"write verifySeconds: {needed}, or {_faster(compared)}"
        if needed > MAX_VERIFY_SECONDS:
            hint = f"{_faster(compared)}; verifySeconds is {MAX_VERIFY_SECONDS} at most"
        # A score that does not change is written only when it is refreshed. So the longer of the
        # two decides, and the message names that.
        if compared.for_seconds >= compared.refresh_seconds:
            yield codes.LATE_CHECK.at(
                position,
                f"{scorer.name} has measured a new copy after {compared.measured_after:g} s, and"
                f" must hold for {compared.for_seconds:g} s: that is {needed} s, and verifySeconds"
                f" is {seconds}",
                hint,
            )
        else:
            yield codes.LATE_CHECK.at(
                position,
                f"{scorer.name} has measured a new copy after {compared.measured_after:g} s, and a"
                f" score that does not change is written every {compared.refresh_seconds:g} s: that"
                f" is {needed} s, and verifySeconds is {seconds}",
                hint,
            )


@rule()
def checks_are_not_of_what_ranks(context: Context) -> Iterator[Diagnostic]:
    """The cluster of a move is the best one by the scores that rank."""
    for application, path, check in context.verified:
        scorer = context.scorers.get(check.scorer)
        if scorer is None:
            continue
        checked = (check.scorer, check.dimension or scorer.only_item)
        for score in application.value.spec.scores:
            is_checked = (score.scorer, score.dimension or scorer.only_item) == checked
            # A score of weight 0 ranks nothing.
            if is_checked and score.weight:
                yield codes.CHECK_BY_RANKING.at(
                    application.at(*path, "scorer"),
                    f"{check.scorer} also ranks the clusters: {application.name} goes where it is"
                    " best, so the check says little",
                    "verify by a score of the application itself, such as its error rate",
                )
                break


@rule()
def checks_can_pass_and_fail(context: Context) -> Iterator[Diagnostic]:
    """A bound outside of what the scorer publishes always gives the same verdict."""
    for application, path, check in context.verified:
        scorer = context.complete.get(check.scorer)
        if scorer is not None:
            yield from _pointless(application, path, check, scorer)


@rule(needs=("ManagedCluster", "ManagedClusterSet", "DynamicScoringConfig"))
def checks_are_measured_everywhere(context: Context) -> Iterator[Diagnostic]:
    """Where the scorer publishes nothing, a move can neither pass nor fail."""
    for application, path, check in context.verified:
        scorer = context.complete.get(check.scorer)
        # One that follows a ScoredPlacement cannot be verified at all.
        if scorer is not None and application.value.spec.placement.ref is None:
            yield from _unmeasured(context, application, path, scorer)


def _without_pace(context: Context, application: Item[ScoredApplication]) -> Iterator[Diagnostic]:
    """The reason why an application that is not paced could not be sent back."""
    spec = application.value.spec
    position = application.at(*_VERIFY)
    # The application's own settings come first: spec.pace alone would not help it.
    if spec.moves.pace == "None":
        yield codes.VERIFICATION_WITHOUT_PACE.at(
            position,
            f"{application.name} verifies its moves, and with moves.pace None nothing could send"
            " it back",
            "write moves.pace: Fleet, or remove verify",
        )
    elif spec.placement.ref is not None:
        yield codes.VERIFICATION_WITHOUT_PACE.at(
            position,
            f"{application.name} verifies its moves, but it follows a ScoredPlacement, which is"
            " not paced: nothing could send it back",
            "write scores here instead of placement.ref, or remove verify",
        )
    elif spec.placement.number_of_clusters is None:
        yield codes.VERIFICATION_WITHOUT_PACE.at(
            position,
            f"{application.name} verifies its moves, but without placement.numberOfClusters it"
            " runs on every eligible cluster and does not move",
            "write placement.numberOfClusters, or remove verify",
        )
    elif context.settings.pace is None:
        yield codes.VERIFICATION_WITHOUT_PACE.at(
            position,
            f"{application.name} verifies its moves, and gitops-dsf.yaml has no spec.pace: nothing"
            " could send it back",
            "write spec.pace there, such as pace: {concurrent: 2}, or remove verify",
        )


def _faster(compared: VerifiedBy) -> str:
    """The setting that would make the check decide earlier."""
    if compared.for_seconds >= compared.refresh_seconds:
        return "a smaller forSeconds, or a shorter interval and range in the scorer"
    return "a smaller scoreTTLSeconds, interval and range in the scorer"


def _pointless(
    application: Item[ScoredApplication],
    path: FieldPath,
    check: MoveCheck,
    scorer: EffectiveScorer,
) -> Iterator[Diagnostic]:
    """Reports a bound that every score passes, or none."""
    low, high = scorer.published
    if check.at_least is not None and check.at_least > high:
        yield codes.BAD_VALUE.at(
            application.at(*path, "atLeast"),
            f"{scorer.name} publishes at most {high}: no score reaches {check.at_least}, so every"
            " move would be undone",
            f"write a number from {low + 1} to {high}",
        )
    elif check.at_least is not None and check.at_least <= low:
        yield codes.BAD_VALUE.at(
            application.at(*path, "atLeast"),
            f"{scorer.name} publishes at least {low}: every score reaches {check.at_least}",
            f"write a number from {low + 1} to {high}",
        )
    elif check.no_worse_than is not None and check.no_worse_than >= scorer.width:
        yield codes.BAD_VALUE.at(
            application.at(*path, "noWorseThan"),
            f"two scores of {scorer.name} differ by at most {scorer.width} points: none is worse by"
            f" more than {check.no_worse_than}",
            f"write a number below {scorer.width}",
        )


def _unmeasured(
    context: Context, application: Item[ScoredApplication], path: FieldPath, scorer: EffectiveScorer
) -> Iterator[Diagnostic]:
    """Reports a scorer that does not publish where the application may go."""
    position = application.at(*path, "scorer")
    if scorer.spec.score_destination == "None":
        yield codes.SCORE_NOT_RUNNING.at(
            position,
            f"{scorer.name} has scoreDestination None: it publishes no score that could verify a"
            " move",
            "write scoreDestination: AddOnPlacementScore in the scorer",
        )
        return
    if scorer.spec.suspend:
        yield codes.SCORE_SUSPENDED.at(
            position,
            f"{scorer.name} is suspended: its scores are removed everywhere, so no move can be"
            " verified by it",
            "remove the check here while the scorer is suspended",
        )
        return
    clusters = eligible(context, application)
    blind = clusters - context.target_clusters[scorer.name]
    if not blind:
        return
    if blind == clusters:
        yield codes.SCORE_NOT_RUNNING.at(
            position,
            f"{scorer.name} runs on no cluster that is eligible for {application.name}",
            "correct its clusterSelector or the masks, or choose other clusters",
        )
    else:
        yield codes.SCORE_NOT_RUNNING.at(
            position,
            f"{scorer.name} does not run on {names_text(sorted(blind))}: a move of"
            f" {application.name} there could not be verified",
            "correct its clusterSelector or the masks, or choose other clusters",
            # The application may never go there.
            severity=Severity.WARNING,
        )
