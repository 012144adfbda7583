"""Checks what verbs print with `-o json` against schemas/output, where every key must be known."""

import itertools
import json
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from jsonschema import Draft202012Validator

from gitops_dsf.cli.schema import output_schemas


def check_output(arguments: Sequence[str], printed: str) -> bool:
    """Whether a command printed JSON, which is then checked."""
    words = [*arguments]
    pairs = set(itertools.pairwise(words))
    if not printed.strip() or not pairs & {("-o", "json"), ("--output", "json")}:
        return False
    name = "-".join(words[:2]) if words[0] == "scorer" else words[0]
    problems = _problems(name, printed)
    assert not problems, (name, problems[:5])
    return True


@lru_cache(maxsize=4)
def _problems(name: str, printed: str) -> list[str]:
    """A wide fleet takes half a second, and tests print the same with several options."""
    return [
        f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
        for error in validator(name).iter_errors(json.loads(printed))
    ]


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(output_schemas()[name]))


def closed(schema: Any) -> Any:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return found | ({"additionalProperties": False} if "properties" in schema else {})
