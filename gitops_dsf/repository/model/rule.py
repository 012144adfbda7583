"""Rules between fields of one object, which types cannot express: in Python for `validate`, as CEL for the
hub's API server, and as JSON Schema for editors. Tests compare all three.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pydantic import model_validator
from pydantic.alias_generators import to_camel

from gitops_dsf.repository.model.base import Authored, FieldError

Schema = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule between fields of one object. `cel` is empty if the kind has no CRD, `json` if JSON Schema
    cannot compare values.
    """

    message: str
    holds: Callable[[Any], bool] | None = None
    """Whether an object keeps the rule; None where a validator of the model says more than the message."""
    path: tuple[str, ...] = ()
    """Leads from the object to the field that is wrong."""
    cel: str = ""
    json: Mapping[str, Any] = field(default_factory=dict)


class Ruled(Authored):
    """An object with rules."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        for rule in self.rules:
            if rule.holds is not None and not rule.holds(self):
                raise FieldError(rule.message, *rule.path)
        return self


def rules_of(model: str) -> tuple[Rule, ...]:
    """The rules of a model, by its name."""
    pending = [Ruled]
    while pending:
        ruled = pending.pop()
        if ruled.__name__ == model:
            return ruled.rules
        pending += ruled.__subclasses__()
    return ()


def exactly_one(first: str, second: str, message: str) -> Rule:
    """A rule that one of two fields is written."""
    one, other = to_camel(first), to_camel(second)
    return Rule(
        message=message,
        holds=lambda item: (getattr(item, first) is None) != (getattr(item, second) is None),
        cel=f"has(self.{one}) != has(self.{other})",
        json={"oneOf": [given(one), given(other)]},
    )


def having(name: str, schema: Schema) -> Schema:
    """JSON Schema for "this field is present and like that"."""
    return {"required": [name], "properties": {name: schema}}


def given(name: str) -> Schema:
    """JSON Schema for "this field is present and not null"."""
    return having(name, {"not": {"type": "null"}})


def not_empty_list(name: str) -> Schema:
    """JSON Schema for "this field is a list with items"."""
    return having(name, {"type": "array", "minItems": 1})
