"""What RBAC cannot say about the hub scorer's rights: which AddOnPlacementScores it may write, and that
neither it nor an agent deletes a score that the other one takes over.

When spec.runsOn of a scorer changes, the old writer and the new one learn it at different times, up to
minutes apart. The old writer must not delete the score meanwhile: for a moment the cluster would have none.
The new writer changes the label and then the scores, and from that moment the old one may no longer write
them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from dsf_wire.constants import (
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    RUNS_ON_HUB,
    RUNS_ON_LABEL,
    SCORE_GROUP,
    SCORE_PLURAL,
)
from gitops_dsf.plan.types import Plan
from gitops_dsf.render.admission import Policy, in_force, label_of, listed, named_in
from gitops_dsf.render.agentscores import AGENTS, VARIABLES, sizes, written_by_agents
from gitops_dsf.render.hubscorer.names import NAME
from gitops_dsf.render.objects import Object
from gitops_dsf.render.rbac import requests_of

WRITES: Final = f"{NAME}-writes"
DELETIONS: Final = f"{NAME}-deletions"
HANDOVER: Final = f"{NAME}-handover"


def policies(plan: Plan) -> Iterator[Object]:
    """Each policy, then what puts it into force."""
    on_hub = [item.resource_name for item in plan.scorers if item.on_hub]
    on_spokes = [item.resource_name for item in plan.scorers if not item.on_hub]
    requests = ("hub-scorer", requests_of(NAME, namespace=plan.repository.spec.hub_namespace))
    yield from in_force(_writes(on_hub), name=WRITES, of=requests)
    yield from in_force(_deletions(on_spokes), name=DELETIONS, of=requests)
    yield from in_force(_handover(on_hub), name=HANDOVER, of=("agents", AGENTS))


def _writes(on_hub: Sequence[str]) -> Policy:
    hub_object = _on_hub("oldObject")
    return Policy(
        name=WRITES,
        group=SCORE_GROUP,
        resources=(SCORE_PLURAL, f"{SCORE_PLURAL}/status"),
        operations=("CREATE", "UPDATE"),
        variables=(("named", named_in(on_hub)), *VARIABLES),
        validations=(
            (
                f'variables.named || (request.operation == "UPDATE" && {hub_object})',
                (
                    "the hub scorer may write the AddOnPlacementScores of scorers with runsOn: Hub and no"
                    " others; a scorer that was just added is allowed as soon as rendered/reconciler is"
                    " applied"
                ),
            ),
            (
                f"{written_by_agents('object')} && {_on_hub('object')}",
                (
                    "the hub scorer may write AddOnPlacementScores with the labels"
                    f" {MANAGED_BY_LABEL}={AGENT_MANAGER} and {RUNS_ON_LABEL}={RUNS_ON_HUB} and no others"
                ),
            ),
            (
                f'request.operation == "CREATE" || {written_by_agents("oldObject")}',
                (
                    "the hub scorer may change AddOnPlacementScores with the label"
                    f" {MANAGED_BY_LABEL}={AGENT_MANAGER} and no others; delete the object of the other"
                    " program, or rename the score"
                ),
            ),
            *sizes("the hub scorer"),
        ),
    )


def _deletions(on_spokes: Sequence[str]) -> Policy:
    return Policy(
        name=DELETIONS,
        group=SCORE_GROUP,
        resources=(SCORE_PLURAL,),
        operations=("DELETE",),
        validations=(
            (
                f"{written_by_agents('oldObject')} && {_on_hub('oldObject')}",
                "the hub scorer may delete AddOnPlacementScores that it wrote and no others",
            ),
            (
                f"!(oldObject.metadata.name in {listed(on_spokes)})",
                "the scorer runs on the spokes now: its agents take over the score, and nobody deletes it",
            ),
        ),
    )


def _handover(on_hub: Sequence[str]) -> Policy:
    return Policy(
        name=HANDOVER,
        group=SCORE_GROUP,
        resources=(SCORE_PLURAL,),
        operations=("DELETE",),
        validations=(
            (
                f"!(oldObject.metadata.name in {listed(on_hub)}) && !({_on_hub('oldObject')})",
                (
                    "the scorer runs on the hub now: the hub scorer takes over the score, and no agent"
                    " deletes it"
                ),
            ),
        ),
    )


def _on_hub(item: str) -> str:
    return f'{label_of(item, RUNS_ON_LABEL)} == "{RUNS_ON_HUB}"'
