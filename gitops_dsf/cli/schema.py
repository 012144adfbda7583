"""The verb `gitops-dsf schema`: writes the schema for editors, or everything that is generated."""

import argparse
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dsf_scorer.conformance.exchange import Report
from dsf_wire.text import printable_lines
from gitops_dsf.backtest.result import BacktestResult
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.cli.explainplacement import ExplainOutput, PlacementOutput
from gitops_dsf.cli.log import LogOutput
from gitops_dsf.cli.simulate import PacedOutput, SimulateOutput
from gitops_dsf.cli.simulatelosses import LossesOutput
from gitops_dsf.diagnostics.output import FindingOutput
from gitops_dsf.repository.files import write_file
from gitops_dsf.repository.model.field_rules import Schema
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import DRAFT, FILE, bundle, editor_schemas, summaries_schema
from gitops_dsf.scoretests.suite import TestOutput
from gitops_dsf.sync.locks import LockResult
from gitops_dsf.views.doctor.finding import DoctorOutput
from gitops_dsf.views.preview.build import Preview
from gitops_dsf.views.scorertry import TryOutput
from gitops_dsf.views.status.build import StatusOutput
from gitops_dsf.views.worded import Worded

_CRD_HEADER: Final = "# Generated from the models by `gitops-dsf schema`; do not edit.\n"
_OUTPUTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "backtest": (BacktestResult,),
    "diff": (Preview,),
    "doctor": (DoctorOutput,),
    "explain": (ExplainOutput, PlacementOutput),
    "log": (LogOutput,),
    "scorer-check": (Report,),
    "scorer-try": (TryOutput,),
    "simulate": (SimulateOutput, PacedOutput, LossesOutput),
    "status": (StatusOutput,),
    "sync": (list[LockResult],),
    "test": (TestOutput,),
    "validate": (list[FindingOutput],),
}
"""The types that each verb prints with -o json. One with several prints one of them."""


def run(arguments: argparse.Namespace) -> int:
    """Writes files that differ, and prints how many. Raises RepositoryError."""
    if arguments.out is None:
        # In the working directory: the editor settings of a fleet name this path.
        changed = write_tree({FILE: bundle()}, Path())
        sys.stdout.write(printable_lines([f"{FILE}: {'written' if changed else 'up to date'}"]))
        return 0
    tree = schema_tree()
    changed = write_tree(tree, arguments.out)
    line = f"{arguments.out}: {len(tree)} schemas, {len(changed)} written"
    sys.stdout.write(printable_lines([line]))
    return 0


@cache
def schema_tree() -> Mapping[str, str]:
    """Contents by relative path, sorted. The bytes are the same on every machine."""
    tree = {f"json/{name}": _json(schema) for name, schema in editor_schemas().items()}
    tree["json/document.json"] = bundle()
    tree |= {f"crds/{crd['metadata']['name']}.yaml": _CRD_HEADER + emit(crd) for crd in crds()}
    tree |= {f"output/{verb}.json": _json(schema) for verb, schema in output_schemas().items()}
    tree["wire/summaries.json"] = _json(summaries_schema())
    # The answer is cached, so no caller may change it.
    return MappingProxyType(dict(sorted(tree.items())))


def write_tree(tree: Mapping[str, str], out: Path) -> list[str]:
    """Writes files that differ, by rename, and returns their paths. Raises RepositoryError."""
    differing: list[str] = []
    for path, text in tree.items():
        # A file that stays is not touched, so that tools that look at times do nothing.
        if not _holds(out / path, text.encode()):
            write_file(out / path, text)
            differing.append(path)
    return differing


def _holds(target: Path, content: bytes) -> bool:
    try:
        return target.read_bytes() == content
    # A file that is missing or cannot be read is written. If that fails, too, it is reported.
    except OSError:
        return False


def _json(schema: Schema) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


@cache
def output_schemas() -> Mapping[str, Schema]:
    """The JSON Schema of the output of each verb with `-o json`, by verb.

    They are shared: do not change them.
    """
    return {verb: _schema(verb, shapes) for verb, shapes in _OUTPUTS.items()}


def _sentence_schema(shape: type) -> Schema:
    """The schema of a value that is a sentence in JSON."""
    if shape is Worded:
        return {"type": "string"}
    raise NotImplementedError(shape)  # which msgspec expects of a hook for any other type


def _schema(verb: str, shapes: tuple[Any, ...]) -> Schema:
    schemas, definitions = msgspec.json.schema_components(
        shapes, schema_hook=_sentence_schema, ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        definition.pop("title", None)  # the name of a Python class
    schema = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    title = f"gitops-dsf {verb.replace('-', ' ')} -o json"
    return {"$schema": DRAFT, "title": title, **schema, "$defs": definitions}
