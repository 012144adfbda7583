"""Checks CEL expressions of Placements as OCM's compiler does.

The engine is the simulator's. It is imported when the first expression is checked, because most
repositories have none.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from gitops_dsf.diagnostics import Mistake
from gitops_dsf.wording import shortened

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.checker import Checker


@lru_cache(maxsize=4096)
def cel_mistakes(expression: str) -> tuple[Mistake, ...]:
    """The mistakes of one expression; none if the engine cannot judge it. Never raises."""
    from gitops_dsf.simulator.cel.checker import CelSyntaxError  # noqa: PLC0415
    from gitops_dsf.simulator.cel.function import CelUnsupported  # noqa: PLC0415

    try:
        checked = _checker().check(expression)
    except CelUnsupported:
        return ()
    except CelSyntaxError as error:
        # Errors after a syntax error are mostly a consequence of it.
        mistakes = error.mistakes
        syntax = [mistake for mistake in mistakes if mistake.message.startswith("Syntax error")]
        return tuple(map(_refused, syntax[:1] or mistakes))
    kind = checked.yields.partition("<")[0]
    # The type of a dynamic value shows only on a cluster, so it is not judged.
    if kind in {"BOOL", "DYN"}:
        return ()
    name = kind.rpartition(".")[2].removesuffix("_type").lower()
    message = (
        f"CEL: the expression yields {name}, not true or false: OCM drops every cluster without"
        " reporting it"
    )
    if name == "optional":
        return (Mistake(message, "end it with .orValue(false)"),)
    return (Mistake(message, "compare it with something, such as ... == ..."),)


@lru_cache(maxsize=1)
def _checker() -> "Checker":
    from gitops_dsf.simulator.cel.checker import Checker  # noqa: PLC0415

    return Checker()


def _refused(mistake: Mistake) -> Mistake:
    """A mistake that the compiler reports, without what only its authors understand."""
    # The grammar lists every token that could follow, and the checker a container, which OCM leaves
    # empty. Neither helps the author of an expression.
    reason = mistake.message.removeprefix("Syntax error: ")
    reason = reason.partition(" expecting ")[0].partition(" (in container")[0]
    return Mistake(
        f"CEL: {shortened(reason)}: OCM refuses the Placement, and evicts everything",
        offset=mistake.offset,
    )
