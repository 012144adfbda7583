"""Checks what verbs print with `-o json` against schemas/output, where every key must be known."""

import itertools
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from gitops_dsf.cli.schema import output_schemas


def check_output(arguments: Sequence[str], printed: str) -> bool:
    """Whether a command printed JSON, which is then checked."""
    words = [*arguments]
    pairs = set(itertools.pairwise(words))
    if not printed.strip() or not pairs & {("-o", "json"), ("--output", "json")}:
        return False
    name = "-".join(words[:2]) if words[0] == "scorer" else words[0]
    problems = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message[:200]}"
        for error in validator(name).iter_errors(json.loads(printed))
    ]
    assert not problems, (name, problems[:5])
    return True


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(output_schemas()[name]), validate_formats=True)


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return found | ({"additionalProperties": False} if "properties" in schema else {})
