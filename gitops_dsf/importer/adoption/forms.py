"""The forms in which live objects can be written to git, and the objects that must agree on one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Form(IntEnum):
    """The form of an object in git. A later form needs less of the repository's kinds."""

    SCORED = 0
    AS_IT_IS = 1
    NOT_AT_ALL = 2


@dataclass(kw_only=True)
class LiveObject:
    """An object of the hub, and the form that is tried."""

    data: Mapping[str, Any] = field(repr=False)
    kind: str
    name: str
    form: Form = Form.SCORED
    reason: str = ""
    """The reason why it has no better form."""

    def fall_back(self, reason: str, form: Form | None = None) -> None:
        """Tries another form from now on: the next one, if none is given.

        What is left alone stays so, for its first reason.
        """
        if self.form is Form.NOT_AT_ALL:
            return
        self.form = Form(min(self.form + 1, Form.NOT_AT_ALL)) if form is None else form
        self.reason = reason


@dataclass(kw_only=True)
class FollowedPlacement:
    """A Placement and the ApplicationSets that follow it."""

    placement: LiveObject | None
    """None if git has it."""
    name: str
    """The name of the Placement."""
    sets: list[LiveObject] = field(default_factory=list)

    def members(self) -> Iterator[LiveObject]:
        """The Placement, unless git has it, and then the ApplicationSets."""
        if self.placement is not None:
            yield self.placement
        yield from self.sets

    def agree_on_forms(self) -> None:
        """Makes the forms of the members agree.

        A ScoredApplication follows a ScoredPlacement only, and a Placement that no ApplicationSet
        of the repository follows is none of its business.
        """
        placement = self.placement
        if placement is None:
            return
        if placement.form is not Form.SCORED:
            for live in self.sets:
                if live.form < placement.form:
                    live.fall_back(_of_the_placement(placement), placement.form)
        # The Placement itself was not asked for: it is taken for the sets that follow it.
        if all(live.form is Form.NOT_AT_ALL for live in self.sets):
            first = self.sets[0]
            reason = f"the ApplicationSet {first.name}, which follows it, is not taken"
            placement.fall_back(reason, Form.NOT_AT_ALL)


def _of_the_placement(placement: LiveObject) -> str:
    if placement.form is Form.NOT_AT_ALL:
        return f"the Placement {placement.name}, which it follows, is left: {placement.reason}"
    return f"the Placement {placement.name}, which it follows, stays as it is: {placement.reason}"
