"""Rules between the fields of one object, such as "exactly one of these two".

One `Rule` serves three readers: `validate`, the CRD (CEL), and the JSON Schema for editors. So all
of them accept the same objects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pydantic import model_validator
from pydantic.alias_generators import to_camel

from gitops_dsf.repository.model.base import Authored, FieldError

Schema = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FieldRule:
    """A rule between fields of one object.

    `cel` is empty where no CRD has the fields, `json` where JSON Schema cannot compare them.
    """

    message: str
    """The message in schemas."""
    says: str = ""
    """The message of `validate` about an object, formatted with it; if empty, `message` is used."""
    holds: Callable[[Any], bool] | None = None
    """Whether an object keeps the rule; None where a validator of the model gives more detail."""
    path: tuple[str, ...] = ()
    """Leads from the object to the field that is wrong."""
    cel: str = ""
    json: Mapping[str, Any] = field(default_factory=dict)


class Ruled(Authored):
    """An object with rules."""

    rules: ClassVar[tuple[FieldRule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        for rule in self.rules:
            if rule.holds is not None and not rule.holds(self):
                raise FieldError(rule.says.format(self) or rule.message, *rule.path)
        return self


def rules_of(model: str) -> tuple[FieldRule, ...]:
    """The rules of a model, by its name; none if it has none."""
    # Schemas name models by their title, so the class is looked for among the subclasses.
    pending = [Ruled]
    while pending:
        ruled = pending.pop()
        if ruled.__name__ == model:
            return ruled.rules
        pending += ruled.__subclasses__()
    return ()


def exactly_one(first: str, second: str, message: str) -> FieldRule:
    """The rule that an object has one of two fields, by their names in Python."""
    first_field = to_camel(first)
    second_field = to_camel(second)
    return FieldRule(
        message=message,
        holds=lambda owner: (getattr(owner, first) is None) != (getattr(owner, second) is None),
        cel=f"has(self.{first_field}) != has(self.{second_field})",
        json={"oneOf": [given(first_field), given(second_field)]},
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
