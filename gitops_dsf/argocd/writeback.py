"""Fields that Argo CD's ApplicationSet controller writes back when it updates a whole object."""

from typing import Any, Final

from gitops_dsf.argocd.fields import ALWAYS, OMITTED, Schema, resolved

_ZEROS: Final[dict[str, Any]] = {"boolean": False, "integer": 0, "object": {}, "string": ""}
"""Go's value of a field that is absent, by the type of the schema."""


def written_back(
    schema: Schema,
    value: Any,  # noqa: ANN401 - plain data
    *,
    in_list: bool = False,
) -> Any:  # noqa: ANN401 - plain data
    """The value as Argo CD writes it back when it updates the whole object.

    The ApplicationSet controller does so, for instance to remove the annotation that asks for a
    refresh. What is false, 0 or empty and means the same absent is left out. What Argo CD's types
    always have is added in lists, because server-side apply compares a list as a whole: a generator
    gets an empty `template`.

    A field that is applied and comes back otherwise is a difference for ever: the Application that
    applies the object is OutOfSync until its next sync (seen with Argo CD 3.6.1).
    """
    schema = resolved(schema)
    if isinstance(value, list):
        of_items = schema.get("items", {})
        return [written_back(of_items, element, in_list=True) for element in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    others = schema.get("additionalProperties")
    kept = {}
    for name, content in value.items():
        field = resolved(properties.get(name, others if isinstance(others, dict) else {}))
        new = written_back(field, content, in_list=in_list)
        # Go's omitempty leaves out what is false, 0 or empty.
        if new or not field.get(OMITTED):
            kept[name] = new
    if in_list:
        for name, reference in properties.items():
            field = resolved(reference)
            if name not in kept and field.get(ALWAYS):
                kept[name] = written_back(field, _ZEROS[field["type"]], in_list=True)
    return kept
