"""The tree of generated schemas, which `gitops-dsf schema` writes and the repository keeps in schemas/."""

import json
import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from gitops_dsf.canonicalyaml import emit
from gitops_dsf.errors import RepositoryError
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import editor_schemas
from gitops_dsf.schema.kubeconform import kubeconform_schemas
from gitops_dsf.schema.outputs import output_schemas
from gitops_dsf.schema.rules import Schema
from gitops_dsf.schema.wire import summaries_schema

_CRD_HEADER = "# Generated from the models by `gitops-dsf schema`; do not edit.\n"


@cache
def schema_tree() -> Mapping[str, str]:
    """Contents by relative path, with forward slashes, sorted. The bytes are the same on every machine.

    Computed once per process.
    """
    tree = {f"json/{name}": _json(schema) for name, schema in editor_schemas().items()}
    tree |= {f"kubeconform/{name}": _json(schema) for name, schema in kubeconform_schemas().items()}
    tree |= {f"crds/{crd['metadata']['name']}.yaml": _CRD_HEADER + emit(crd) for crd in crds()}
    tree |= {f"output/{verb}.json": _json(schema) for verb, schema in output_schemas().items()}
    tree["wire/summaries.json"] = _json(summaries_schema())
    return MappingProxyType(dict(sorted(tree.items())))


def write_tree(tree: Mapping[str, str], out: Path) -> list[str]:
    """Writes files that differ, each by temporary file and rename. Returns their paths.

    Other files in the folder stay. Raises RepositoryError when the folder cannot be written.
    """
    try:
        return [path for path, text in tree.items() if _write(out / path, text.encode())]
    except OSError as error:
        msg = f"cannot write {error.filename or out}: {error.strerror or error}"
        raise RepositoryError(msg) from error


def _write(target: Path, content: bytes) -> bool:
    if target.is_file() and target.read_bytes() == content:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True


def _json(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
