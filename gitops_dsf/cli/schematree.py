"""The tree of generated schemas, which `gitops-dsf schema` writes and the repository keeps in schemas/."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.cli.outputs import output_schemas
from gitops_dsf.repository.model.base import Schema
from gitops_dsf.repository.write import write_file
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import bundle, editor_schemas, summaries_schema

_CRD_HEADER = "# Generated from the models by `gitops-dsf schema`; do not edit.\n"


@cache
def schema_tree() -> Mapping[str, str]:
    """Contents by relative path, with forward slashes, sorted. The bytes are the same on every machine.

    Computed once per process.
    """
    tree = {f"json/{name}": _json(schema) for name, schema in editor_schemas().items()}
    tree["json/document.json"] = bundle()
    tree |= {f"crds/{crd['metadata']['name']}.yaml": _CRD_HEADER + emit(crd) for crd in crds()}
    tree |= {f"output/{verb}.json": _json(schema) for verb, schema in output_schemas().items()}
    tree["wire/summaries.json"] = _json(summaries_schema())
    return MappingProxyType(dict(sorted(tree.items())))


def write_tree(tree: Mapping[str, str], out: Path) -> list[str]:
    """Writes files that differ, each by temporary file and rename. Returns their paths.

    Other files in the folder stay. Raises RepositoryError when the folder cannot be written.
    """
    differing = [path for path, text in tree.items() if not _holds(out / path, text.encode())]
    for path in differing:
        write_file(out / path, tree[path])
    return differing


def _holds(target: Path, content: bytes) -> bool:
    try:
        return target.read_bytes() == content
    except OSError:
        return False


def _json(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
