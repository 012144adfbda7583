"""What RBAC cannot say about the agents' rights: which AddOnPlacementScores they may write, and how large.

An agent may create objects in its cluster's namespace. Without a limit one cluster that is taken over fills
the hub's etcd, and the memory of whatever reads all scores. A ResourceQuota would count the scores of other
add-ons too, and depends on the controller manager (docs/decisions/0022-limits-of-agents.md). So the policy
names the objects instead: those of the fleet's scorers.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from dsf_wire.constants import (
    ADDON_GROUP,
    ADDON_NAME,
    AGENT_MANAGER,
    MANAGED_BY_LABEL,
    MAX_ITEM_NAME,
    MAX_SCORE_ITEMS,
    RUNS_ON_LABEL,
    SCORE_GROUP,
    SCORE_PLURAL,
)
from gitops_dsf.render.admission import Policy, in_force, label_of, named_in
from gitops_dsf.render.objects import Object

NAME: Final = f"{ADDON_NAME}-scores"
AGENTS: Final = (
    f'"{ADDON_GROUP}" in request.userInfo.?groups.orValue([]) || '
    '(request.userInfo.username.startsWith("system:serviceaccount:") && '
    f'request.userInfo.username.endsWith(":{ADDON_NAME}-agent"))'
)
"""An agent as it registers by certificate, and as it registers by token (works._rights)."""


VARIABLES: Final = (("scores", "object.?status.?scores.orValue([])"),)
_FEW: Final = f"variables.scores.size() <= {MAX_SCORE_ITEMS}"


def sizes(who: str) -> tuple[tuple[str, str], ...]:
    """Conditions on the size of an object, by VARIABLES."""
    return (
        (_FEW, f"an AddOnPlacementScore of {who} has at most {MAX_SCORE_ITEMS} scores"),
        (
            f"!({_FEW}) || variables.scores.all(score, score.name.size() <= {MAX_ITEM_NAME})",
            f"the name of a score has at most {MAX_ITEM_NAME} characters",
        ),
    )


def written_by_agents(item: str) -> str:
    """CEL: whether an agent or the hub scorer wrote `object` or `oldObject`."""
    return f'{label_of(item, MANAGED_BY_LABEL)} == "{AGENT_MANAGER}"'


def agent_scores(names: Iterable[str], *, beside_hub_scorer: bool) -> Iterator[Object]:
    """``names``: of the AddOnPlacementScores that the fleet's agents write. With ``beside_hub_scorer`` other
    scores are written on the hub.
    """
    ours = written_by_agents("oldObject")
    if beside_hub_scorer:
        ours += f' && {label_of("oldObject", RUNS_ON_LABEL)} == ""'
    policy = Policy(
        name=NAME,
        group=SCORE_GROUP,
        resources=(SCORE_PLURAL, f"{SCORE_PLURAL}/status"),
        operations=("CREATE", "UPDATE"),
        variables=(("named", named_in(names)), *VARIABLES),
        validations=(
            (
                # An agent whose configuration is older than the policy renews what it wrote.
                f'variables.named || (request.operation == "UPDATE" && {ours})',
                (
                    "agents may write the AddOnPlacementScores of the fleet's scorers and no others; a scorer"
                    " that was just added is allowed as soon as rendered/platform is applied"
                ),
            ),
            *sizes("an agent"),
        ),
    )
    yield from in_force(policy, name=NAME, of=("agents", AGENTS))
