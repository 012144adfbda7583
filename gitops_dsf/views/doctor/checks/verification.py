"""Checks verified moves: whether the fleet stopped itself, and whether verifiers have scores."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from gitops_dsf.hub.decisions import decided
from gitops_dsf.hub.moves.measured import check_text, decided_text
from gitops_dsf.hub.names import ACKNOWLEDGED_STOP_ANNOTATION, MOVES_CONFIGMAP
from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.hub.score_states import ScoreState
from gitops_dsf.hub.scores import PublishedScore
from gitops_dsf.pacing.verification import value_of
from gitops_dsf.views.doctor.facts import DoctorFacts
from gitops_dsf.views.doctor.finding import DoctorFinding, error, ok, warning
from gitops_dsf.views.status.queue import NO_MOVES, MoveView
from gitops_dsf.views.status.verification import (
    CheckView,
    FailedView,
    VerificationView,
    verifications_of,
)
from gitops_dsf.wording import names_text, plural, prioritizer_text


def stopped(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """May moves begin, or did the fleet stop itself?"""
    queue = facts.overview.queue or NO_MOVES
    stop = queue.stopped
    if not stop:
        yield ok("the fleet did not stop its moves")
        return
    annotation = f"{ACKNOWLEDGED_STOP_ANNOTATION}={stop.since}"
    command = facts.on_hub("annotate", "--overwrite", "configmap", MOVES_CONFIGMAP, annotation)
    yield error(
        f"no paced move begins since {stop.since}, because {plural(stop.returns, 'move')} went back"
        " and nobody acknowledged it",
        f"{command}  # or {stop.field} in gitops-dsf.yaml; first look for a scorer that is wrong:"
        " gitops-dsf log",
    )


def verification(facts: DoctorFacts) -> Iterator[DoctorFinding]:
    """Can the moves that are verified be decided?"""
    verifications = verifications_of(facts.inputs.placements)
    if not verifications:
        yield ok("no Placement verifies its moves")
        return
    queue = facts.overview.queue or NO_MOVES
    for move in queue.under_way:
        if move.verification and move.verification.late_seconds and not move.verification.passed:
            yield _late(move, move.verification)
    for failed in queue.failed or ():
        yield _failed(failed)
    # A new copy has no score for a while, and a move that is late has said why.
    moving = {move.placement for move in queue.under_way}
    at_rest: dict[str, Verification] = {}
    for key, verification_of_key in verifications.items():
        if key not in moving:
            at_rest[key] = verification_of_key
    yield from _without_scores(facts, at_rest)
    yield ok(f"{plural(len(verifications), 'Placement')} with verified moves")


def _failed(failed: FailedView) -> DoctorFinding:
    decided = decided_text(failed.measured, failed.detail or "")
    return warning(
        f"{failed.placement} does worse on {failed.target} than its checks ask for, and has nowhere"
        f" to return to: {decided or 'its scores are not known'}",
        f"gitops-dsf status --placement {failed.placement}  # then make {failed.source} eligible"
        " again, or mend the application",
    )


def _late(move: MoveView, view: VerificationView) -> DoctorFinding:
    # The ledger knows since when a score has been good.
    not_good = [check for check in view.checks if check.held_seconds is None]
    reasons = "; ".join(map(_reason, not_good)) or "no score has been good for long enough"
    scorer = (not_good or view.checks)[0].score.partition("/")[0]
    return warning(
        f"{move.placement} keeps both copies: it should have been verified on {move.target} by"
        f" {view.until}: {reasons}",
        f"gitops-dsf status --scorer {scorer} --all  # has the reason of each cluster; onUnknown of"
        " the application says what happens without scores",
    )


def _reason(check: CheckView) -> str:
    if check.value is None and check.why:
        return f"{prioritizer_text(check.score)} has no score that counts: {check.why}"
    return check_text(check.score, check.value, check.at_least)


def _without_scores(
    facts: DoctorFacts, verifications: Mapping[str, Verification]
) -> Iterator[DoctorFinding]:
    """One finding for each verifier and reason, however many applications it verifies."""
    clusters = decided(facts.inputs.snapshot.decisions)
    now = facts.inputs.now.timestamp()
    waiting: dict[str, frozenset[str]] = {}
    for view in facts.overview.scorers:
        # Scorers, clusters and agents that are new publish their first scores within minutes.
        waiting[view.scorer.resource] = frozenset(view.unusual.get(ScoreState.WAITING, ()))
    # Reported before a move needs it: with a dead scorer both copies would stay, and the pace stop.
    missing: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for key, verification_of_key in sorted(verifications.items()):
        for check in verification_of_key.checks:
            for cluster in clusters.get(key, frozenset()) - waiting.get(check.resource, set()):
                score = facts.inputs.snapshot.published(check.resource, cluster)
                if value_of(score, check, now=now) is None:
                    missing[check.scorer, _why(score, check)].add(cluster)
    for (scorer, reason), names in sorted(missing.items()):
        yield warning(
            f"{scorer} verifies moves and has no score that counts on"
            f" {plural(len(names), 'cluster')} where its applications run"
            f" ({names_text(sorted(names))}): {reason}",
            f"gitops-dsf status --scorer {scorer} --all  # has the reason of each cluster",
        )


def _why(score: PublishedScore | None, check: VerifiedBy) -> str:
    if score is None:
        return "there is no AddOnPlacementScore"
    if score.failure is not None:
        return f"{score.failure.reason}: {score.failure.message}"
    if score.get(check.dimension) is None:
        return f"the AddOnPlacementScore has no item {check.dimension}"
    return "it is too old"
