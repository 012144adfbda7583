"""Mistakes in a template, as values and as the exceptions that carry them."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from gitops_dsf.argocd.gotemplate.values import TextRead
from gitops_dsf.diagnostics import Mistake

SHARED: Final = "the ApplicationSet controller, which all teams share"


class Trouble(Enum):
    """The kind of a mistake in a template. Argo CD runs one that is UNSURE or DIFFERS."""

    FAILS = auto()
    """Argo CD cannot parse or run it."""
    PARAMETER = auto()
    """It uses a parameter that does not exist."""
    LACKING = auto()
    """It writes a text that is empty because a cluster lacks it."""
    WHOLE = auto()
    """It uses labels or claims as a whole, and only those that are read by name are given to it."""
    COST = auto()
    """It costs much."""
    UNSURE = auto()
    """It is not known what it costs, or whether it runs."""
    DIFFERS = auto()
    """It gives something else each time."""


@dataclass(frozen=True, slots=True)
class TemplateMistake(Mistake):
    """A mistake in a template."""

    offset: int = 0
    trouble: Trouble = Trouble.FAILS
    known: tuple[str, ...] = ()
    """The parameters that exist, if `name` does not."""
    name: str = ""
    """The parameter that does not exist."""
    lacks: TextRead | None = None
    """The label or claim that a cluster lacks."""


class TemplateError(Exception):
    """Carries a mistake to where the template, or the action with the mistake, ends."""

    def __init__(
        self,
        message: str,
        offset: int,
        hint: str = "",
        *,
        trouble: Trouble = Trouble.FAILS,
        known: tuple[str, ...] = (),
        name: str = "",
        lacks: TextRead | None = None,
    ) -> None:
        super().__init__(message)
        self.mistake = TemplateMistake(message, hint, offset, trouble, known, name, lacks)
