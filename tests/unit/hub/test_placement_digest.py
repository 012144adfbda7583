"""The digest of a Placement changes with what decides where it goes, and with nothing else."""

import msgspec

from gitops_dsf.hub.objects import Placement
from gitops_dsf.hub.pace import PacedRanking, PacedTerm, Verification, VerifiedBy
from gitops_dsf.hub.placements import summary_of

RANKING = PacedRanking((PacedTerm("cpu", "cpu", 4),), steady=1)
CHECK = VerifiedBy(scorer="slo", resource="slo", dimension="slo", at_least=80)


def digest(ranking: PacedRanking | str, *, count: int = 1) -> str:
    text = ranking if isinstance(ranking, str) else msgspec.json.encode(ranking).decode()
    return summary_of(
        msgspec.convert(
            {
                "metadata": {
                    "name": "web",
                    "namespace": "argocd",
                    "annotations": {"gitops-dsf.io/pace": text},
                },
                "spec": {"numberOfClusters": count},
            },
            Placement,
        )
    ).digest


def verified(revision: str) -> PacedRanking:
    verification = Verification(checks=(CHECK,), seconds=1800, hold_seconds=60, revision=revision)
    return msgspec.structs.replace(RANKING, verification=verification)


def test_what_verifies_a_move_decides_nothing() -> None:
    """Its revision changes with each edit of a scorer. The journal must not call that an edit of
    the Placement.
    """
    assert digest(verified("a")) == digest(verified("b")) == digest(RANKING)


def test_what_decides_changes_the_digest() -> None:
    other = msgspec.structs.replace(RANKING, steady=2)
    digests = {digest(RANKING), digest(other), digest(RANKING, count=2), digest("{"), digest("[")}
    assert len(digests) == 5
