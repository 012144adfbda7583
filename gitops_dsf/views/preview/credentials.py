"""The credentials that the scorers of a fleet send, and the hosts that receive them."""

from msgspec import Struct

from gitops_dsf.plan.fleet import CheckedFleet
from gitops_dsf.resolve.credentials import Kind, Sent, credentials, in_words, sent, sent_by_hub
from gitops_dsf.resolve.scorer import EffectiveScorer


class CredentialSent(Struct, frozen=True, kw_only=True):
    """A credential that a scorer sends first; without a Secret the token of the agent's pod."""

    section: str
    kind: str
    secret: str | None
    to: str

    def __str__(self) -> str:
        return f"{in_words(Kind(self.kind), self.secret)} to {self.to}"


def credentials_of(scorer: EffectiveScorer | None, fleet: CheckedFleet | None) -> tuple[Sent, ...]:
    """The credentials that a scorer of a fleet sends, and the reconciler for it, each once."""
    if scorer is None or fleet is None:
        return ()
    used: list[Sent] = []
    for form in fleet.by_variant[scorer.name]:
        of_source = credentials(form.spec.source.auth, form.variant)
        used += sent("source", form.source_endpoint, of_source)
    used += sent("scoring", scorer.scoring_endpoint, credentials(scorer.spec.scoring.auth))
    # The reconciler reads /config and /healthz only if it may send what these pages ask for.
    by_hub = sent_by_hub(scorer, fleet.repository.spec)
    if all(recipient.is_permitted for recipient in by_hub):
        used += [recipient.sent for recipient in by_hub]
    return tuple(dict.fromkeys(used))


def newly_sent(
    before: EffectiveScorer | None,
    after: EffectiveScorer | None,
    base: CheckedFleet | None,
    head: CheckedFleet,
) -> tuple[CredentialSent, ...]:
    """The credentials that a scorer sends only after a change, sorted."""
    sent_before = frozenset(credentials_of(before, base))
    sent: list[CredentialSent] = []
    for credential in sorted(credentials_of(after, head)):
        if credential in sent_before:
            continue
        sent.append(
            CredentialSent(
                section=credential.section,
                kind=credential.kind,
                secret=credential.secret or None,
                to=f"{credential.scheme}://{credential.host}",
            )
        )
    return tuple(sent)
