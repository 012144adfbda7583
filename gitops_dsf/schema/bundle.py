"""The schema that editors of a fleet repository read: every kind in one file of one line, which `init` writes
and `gitops-dsf schema` refreshes.
"""

import json
from typing import Final

from gitops_dsf.repository.model.kinds import KINDS
from gitops_dsf.schema.editor import document_schema, kind_file, kind_schema
from gitops_dsf.schema.rules import Schema

FILE: Final = ".schemas/gitops-dsf.json"
"""Where it is in a fleet repository. The editor settings and the first lines of files name it."""


def bundle() -> str:
    """Returns the schema as JSON. The bytes are the same on every machine."""
    definitions: dict[str, Schema] = {}
    inside: dict[str, Schema] = {}
    for key in sorted(KINDS):
        schema = kind_schema(*key)
        definitions |= schema.pop("$defs")
        inside[kind_file(*key)] = {name: value for name, value in schema.items() if name != "$schema"}
    whole = document_schema()
    for choice in whole["allOf"]:
        choice["then"] = inside[choice["then"]["$ref"]]
    return json.dumps(whole | {"$defs": definitions}, separators=(",", ":"), ensure_ascii=False) + "\n"
