"""Checks CEL expressions of Placements, and explains what OCM's compiler would reject.

The CEL engine is the simulator's. It is imported when the first expression is checked, because most
repositories have none.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.wording import shortened

if TYPE_CHECKING:
    from gitops_dsf.simulator.cel.checker import Checker, Mistake

# Compiled on first use: it takes 4 ms, and most runs do not need it.
_EXPECTING = (
    r"(?:mismatched input|extraneous input|no viable alternative at input|token recognition error at:)"
    r" '(.*?)'(?: expecting .*)?$"
)
_OVERLOAD = r"found no matching overload for '(.*)' applied to '(.*)'$"
_UNDECLARED = r"undeclared reference to '(.*?)'"
_NEVER_BOOL = frozenset(
    {
        "BYTES",
        "DOUBLE",
        "DURATION",
        "INT",
        "LIST",
        "MAP",
        "NULL",
        "STRING",
        "TIMESTAMP",
        "TYPE",
        "UINT",
        "optional_type",
    }
    | {"kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.CIDR", "net.IP"}
)
"""Types without their parameters. DYN is missing, because it may be a bool on some cluster."""
_OFFERED = "OCM offers managedCluster, its scores(...), parseJSON and the functions of Kubernetes"
_ARTICLES = {"int": "an int", "ip": "an ip", "null": "null", "optional": "an optional"}


@dataclass(frozen=True, kw_only=True, slots=True)
class CelMistake:
    """A mistake in an expression, and its 0-based character offset; None if the position is unknown."""

    message: str
    offset: int | None
    hint: str = ""


@lru_cache(maxsize=4096)
def check(expression: str) -> tuple[CelMistake, ...]:
    """Returns the mistakes of one expression. Never raises. Skips expressions that the engine
    cannot judge.
    """
    from gitops_dsf.simulator.cel.checker import CelSyntaxError  # noqa: PLC0415 - see above
    from gitops_dsf.simulator.cel.function import CelUnsupported  # noqa: PLC0415

    try:
        checked = _checker().check(expression)
    except CelUnsupported:
        return ()
    except CelSyntaxError as error:
        syntax = [item for item in error.mistakes if item.reason.startswith("Syntax error")]
        return tuple(_refused(expression, item) for item in syntax[:1] or error.mistakes)
    kind = checked.yields.partition("<")[0]
    if kind not in _NEVER_BOOL:
        return ()
    name = kind.rpartition(".")[2].removesuffix("_type").lower()
    message = (
        f"CEL: the expression yields {_ARTICLES.get(name, f'a {name}')}, not true or false: OCM drops every"
        " cluster without reporting it"
    )
    hint = (
        "end it with .orValue(false)"
        if name == "optional"
        else "compare it with something, such as ... == ..."
    )
    return (CelMistake(message=message, offset=0, hint=hint),)


@lru_cache(maxsize=1)
def _checker() -> "Checker":
    from gitops_dsf.simulator.cel.checker import Checker  # noqa: PLC0415 - see above

    return Checker()


def _refused(expression: str, item: "Mistake") -> CelMistake:
    words, hint = _in_words(item.reason.removeprefix("Syntax error: "))
    offset = item.offset
    if offset is not None and (found := re.match(_UNDECLARED, item.reason)):
        # The compiler reports the last dot of a name; the unknown part is its start.
        before = found[1].rpartition(".")[0]
        offset -= len(before) if expression[:offset].endswith(before) else 0
    return CelMistake(
        message=f"CEL: {words}: OCM refuses the Placement, and evicts everything", offset=offset, hint=hint
    )


def _in_words(reason: str) -> tuple[str, str]:
    """Translates the compiler's message into an explanation and a hint."""
    if found := re.match(_EXPECTING, reason):
        return (
            ("the expression ends too early", "")
            if found[1] == "<EOF>"
            else (f"{shortened(found[1])} does not fit here", "")
        )
    if found := re.match(_UNDECLARED, reason):
        name = found[1].partition(".")[0]
        return f"{shortened(name)} is not known", did_you_mean(name, ("managedCluster",)) or _OFFERED
    if found := re.match(_OVERLOAD, reason):
        name = found[1].removeprefix("@")
        return (
            (
                f"{name if name.isidentifier() else name.replace('_', '')} cannot be applied to"
                f" {found[2].strip('()')}"
            ),
            "",
        )
    return shortened(reason.removesuffix(".")), ""
