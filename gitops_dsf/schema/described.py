"""Converts models to JSON Schema, with docstrings as descriptions of fields."""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from gitops_dsf.repository.model.field_docs import field_docs, unwrapped
from gitops_dsf.repository.model.rule import Schema


class _Described(GenerateJsonSchema):
    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        result = super().model_schema(schema)
        model: type[BaseModel] = schema["cls"]
        if "description" in result:
            result["description"] = unwrapped(result["description"])
        for name, text in field_docs(model).items():
            field = model.model_fields[name]
            if not _says(field.annotation, text):
                result["properties"][field.alias or name]["description"] = text
        return result


def _says(annotation: Any, text: str) -> bool:  # noqa: ANN401 - any annotation
    """Whether the field refers to a model with the same description, which a reference does not repeat."""
    return (
        isinstance(annotation, type)
        and issubclass(annotation, BaseModel)
        and unwrapped(annotation.__doc__) == text
    )


def json_schema(model: type[BaseModel]) -> Schema:
    """The JSON Schema of a model, with field names as people write them."""
    return model.model_json_schema(by_alias=True, schema_generator=_Described)
