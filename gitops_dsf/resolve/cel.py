"""Checks CEL expressions of Placements as OCM's compiler does.

The CEL engine is the simulator's. It is imported when the first expression is checked, because most
repositories have none.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gitops_dsf.wording import shortened

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.checker import Checker


@dataclass(frozen=True, kw_only=True, slots=True)
class CelMistake:
    """A mistake in an expression, and its 0-based character offset; None if the position is unknown."""

    message: str
    offset: int | None
    hint: str = ""


@lru_cache(maxsize=4096)
def check(expression: str) -> tuple[CelMistake, ...]:
    """The mistakes of one expression; none if the engine cannot judge it. Never raises."""
    from gitops_dsf.simulator.cel.checker import CelSyntaxError  # noqa: PLC0415 - see above
    from gitops_dsf.simulator.cel.function import CelUnsupported  # noqa: PLC0415

    try:
        checked = _checker().check(expression)
    except CelUnsupported:
        return ()
    except CelSyntaxError as error:
        syntax = [item for item in error.mistakes if item.reason.startswith("Syntax error")]
        return tuple(
            CelMistake(message=_refused(item.reason), offset=item.offset)
            for item in syntax[:1] or error.mistakes
        )
    kind = checked.yields.partition("<")[0]
    if kind in {"BOOL", "DYN"}:
        return ()
    name = kind.rpartition(".")[2].removesuffix("_type").lower()
    effect = "OCM drops every cluster without reporting it"
    message = f"CEL: the expression yields {name}, not true or false: {effect}"
    hint = "compare it with something, such as ... == ..."
    if name == "optional":
        hint = "end it with .orValue(false)"
    return (CelMistake(message=message, offset=0, hint=hint),)


@lru_cache(maxsize=1)
def _checker() -> "Checker":
    from gitops_dsf.simulator.cel.checker import Checker  # noqa: PLC0415 - see above

    return Checker()


def _refused(reason: str) -> str:
    words = reason.removeprefix("Syntax error: ").partition(" expecting ")[0].partition(" (in container")[0]
    return f"CEL: {shortened(words)}: OCM refuses the Placement, and evicts everything"
