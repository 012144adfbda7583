"""The life of verified moves: they are verified, and complete or return. Pure.

`verification` judges the checks of one move. This module has the consequences, and the rule which
moves are verified at all.

Guaranteed:

- A move that passed never returns, and one that failed never passes.
- Only an admitted move returns, and a return is never verified: an application with two copies goes
  back once, and it ends.

Not guaranteed: that a return happens. When OCM cannot decide for the old cluster until
`verifySeconds` are over, both copies stay, and it is reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from gitops_dsf.hub.moves.causes import MoveCause, by_return
from gitops_dsf.hub.pace import Verification, VerifiedBy
from gitops_dsf.pacing.holds import holding, remaining
from gitops_dsf.pacing.ledger import (
    MAX_DETAIL,
    Hold,
    Ledger,
    LedgerMove,
    Phase,
    VerificationOutcome,
)
from gitops_dsf.pacing.ledgerindex import LedgerIndex
from gitops_dsf.pacing.verification import (
    ChecksVerdict,
    Reading,
    adapted,
    begun,
    deadline,
    judge,
    last_move_from,
    why_kept,
)


def _no_reading(_check: VerifiedBy, _cluster: str) -> Reading:
    return Reading()


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The evidence by which verified moves are judged."""

    verifications: Mapping[str, Verification] = field(default_factory=dict)
    """Verifications by namespace/name of the Placement. Moves of others are not verified."""
    read: Callable[[VerifiedBy, str], Reading] = _no_reading
    """The score of a check on a cluster."""
    arrived: Callable[[LedgerMove], bool] = lambda _move: False
    """Whether the new copy of a move is healthy."""
    can_return: Callable[[str, str], bool] = lambda _placement, _cluster: False
    """Whether OCM could decide for a cluster again that a Placement has left."""
    old_copies: Callable[[str], Iterable[str]] = lambda _placement: ()
    """The clusters with copies of an application that are deleted once its move is done."""
    inventory: Mapping[str, str] = field(default_factory=dict)
    """Digests of the entries of clusters, as far as they are known."""


NOT_VERIFIED: Final = Evidence()


class Failed(NamedTuple):
    """A move that ended because its checks failed, and what they measured."""

    move: LedgerMove
    detail: str


class Verifier:
    """Decides on the verified moves of one pass."""

    def __init__(
        self,
        evidence: Evidence,
        *,
        finished: Callable[[LedgerMove], bool],
        loss: Callable[[str], MoveCause | None],
        now: float,
    ) -> None:
        """`finished` says whether the new copy of a move is healthy and the old one is gone.

        `loss` gives the cause if a cluster is lost, or None.
        """
        self._evidence = evidence
        self.finished = finished
        self._loss = loss
        self._now = now

    def can_return(self, placement: str, cluster: str) -> bool:
        """Whether OCM could decide for a cluster again."""
        return self._evidence.can_return(placement, cluster)

    def verification_of(self, move: LedgerMove) -> Verification | None:
        """None for a move that is not verified."""
        return _verification_of(self._evidence, move)

    def begun(self, move: LedgerMove) -> LedgerMove:
        """A move that begins now."""
        return begun_by(self._evidence, move)

    def handed_over(self, move: LedgerMove, verification: Verification) -> LedgerMove | Failed:
        """The next state of a move that OCM has followed."""
        move = adapted(move, verification)
        if self._evidence.arrived(move):
            return move.entered(Phase.VERIFYING, self._now)
        if self._now >= deadline(move, verification):
            detail = f"{move.target} has no healthy copy after {verification.seconds:.0f} s"
            return self._failed(move, verification, detail, unchecked=detail)
        return move

    def verified(self, move: LedgerMove, verification: Verification) -> LedgerMove | Failed:
        """The next state of a move whose new copy was healthy, and whose checks are open."""
        move = adapted(move, verification)
        read = self._evidence.read
        judgement = judge(move, verification, lambda check: read(check, move.target), now=self._now)
        # The same object while nothing has changed: a pass that changes nothing writes nothing.
        if judgement.checks != move.checks:
            move = replace(move, checks=judgement.checks)
        if judgement.verdict is ChecksVerdict.PASSED:
            return replace(move, passed_at=self._now, outcome=VerificationOutcome.COMPLETED)
        if judgement.verdict is ChecksVerdict.FAILED:
            return self._failed(move, verification, judgement.detail)
        if judgement.verdict is ChecksVerdict.UNKNOWN:
            return self._unknown(move, verification, judgement.detail)
        return move

    def moves_back(self, failed: Iterable[Failed]) -> Iterator[LedgerMove]:
        """The moves in the opposite direction."""
        for move, detail in failed:
            yield LedgerMove(
                placement=move.placement,
                source=move.target,
                target=move.source,
                since=self._now,
                phase_since=self._now,
                cause=by_return(detail),
                returning=True,
            )

    def holds(self, before: Sequence[Hold], failed: Iterable[Failed]) -> tuple[Hold, ...]:
        """The holds that matter now, with those of moves that failed."""
        evidence = self._evidence
        held = remaining(before, evidence.verifications, evidence.inventory, now=self._now)
        for move, detail in failed:
            held = holding(
                held,
                placement=move.placement,
                target=move.target,
                verification=evidence.verifications[move.placement],
                inventory=evidence.inventory.get(move.target, ""),
                detail=detail,
                now=self._now,
            )
        return held

    def adopted(
        self, ledger: Ledger, decided: Mapping[str, frozenset[str]]
    ) -> Iterator[LedgerMove]:
        """Moves of old copies about which the ledger says nothing, to be verified now.

        Nobody deletes such a copy before: the ledger was deleted, a cluster came back, or a
        verification was added to an application that had just moved.
        """
        if not self._evidence.verifications:
            return
        index = LedgerIndex(ledger.moves)
        for placement in sorted(self._evidence.verifications):
            clusters = decided.get(placement)
            if not clusters or index.under_way(placement) is not None:
                continue
            for cluster in sorted(set(self._evidence.old_copies(placement)) - clusters):
                last = last_move_from(index.of(placement), placement, cluster, clusters)
                # A failed move was reported, and begins again when the ledger has forgotten it.
                is_known = last is not None and last.outcome is VerificationOutcome.FAILED
                if is_known or not why_kept(last):
                    continue
                move = LedgerMove(
                    placement=placement,
                    source=cluster,
                    target=min(clusters),
                    since=self._now,
                    phase=Phase.HANDOVER,
                    phase_since=self._now,
                    admitted=False,
                )
                yield self.begun(move)
                # The next one follows when this one is done.
                break

    def _unknown(
        self, move: LedgerMove, verification: Verification, detail: str
    ) -> LedgerMove | Failed:
        """The next state of a move whose result is unknown when the time is over."""
        if verification.on_unknown == "Return" and move.admitted:
            return self._failed(move, verification, detail, unchecked=detail)
        # A move that OCM made by itself from a lost cluster has no old copy that could be kept.
        has_old_copy = move.admitted or self._loss(move.source) is None
        if verification.on_unknown == "Hold" and has_old_copy:
            return move
        return replace(
            move,
            passed_at=self._now,
            outcome=VerificationOutcome.UNKNOWN_COMPLETED,
            detail=detail[:MAX_DETAIL],
        )

    def _failed(
        self, move: LedgerMove, verification: Verification, detail: str, *, unchecked: str = ""
    ) -> LedgerMove | Failed:
        """The end of a move, or the move while it may still return.

        `unchecked` is the reason if the checks did not decide. What they measured is in the checks.
        """
        ended = replace(move.entered(Phase.ENDED, self._now), detail=unchecked[:MAX_DETAIL])
        if not move.admitted:
            # OCM had a reason to leave the other cluster.
            return replace(ended, outcome=VerificationOutcome.FAILED)
        if self.can_return(move.placement, move.source):
            return Failed(replace(ended, outcome=VerificationOutcome.RETURNED), detail)
        # A cluster that is away for a moment may come back until then.
        is_over = self._now >= deadline(move, verification)
        return replace(ended, outcome=VerificationOutcome.FAILED) if is_over else move


def begun_by(evidence: Evidence, move: LedgerMove) -> LedgerMove:
    """A move that begins now, with the scores of its old copy if it is verified."""
    verification = _verification_of(evidence, move)
    if verification is None:
        return move
    return begun(move, verification, lambda check: evidence.read(check, move.source).value)


def overtaken(move: LedgerMove, now: float) -> LedgerMove:
    """The end of a move after which OCM decided again."""
    ended = move.entered(Phase.ENDED, now)
    if move.verified and move.outcome is None:
        return replace(ended, outcome=VerificationOutcome.OVERTAKEN)
    return ended


def _verification_of(evidence: Evidence, move: LedgerMove) -> Verification | None:
    # An application that was placed for the first time has no old copy.
    if move.returning or not move.source:
        return None
    return evidence.verifications.get(move.placement)
