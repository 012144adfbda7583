"""Generates the pages of docs/reference/fields/: one per authored kind, with an example and every field,
one of the command line, and one of the metrics.

They are never edited by hand. The site has all. `python -m tools.reference` writes those that are kept.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gitops_dsf.cli.scaffold import repo_template
from gitops_dsf.cli.schematree import write_tree
from gitops_dsf.repository.model.base import Schema, rules_of
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import kind_schema
from tools.clireference import cli_page
from tools.metricsreference import metrics_page

_TEMPLATE: Final = repo_template()
_FLEETS: Final = (
    _TEMPLATE,
    _TEMPLATE / "on-request/examples",
    Path(__file__).parents[1] / "examples" / "fleet",
)
"""Where examples of all kinds are: the first one of a kind is shown."""
_SOURCES_PAGE: Final = "scores/sources.md"
_KEPT: Final = ("dynamicscorer.md", "fleetrepository.md", "scoredapplication.md")
_GENERATED = "<!-- Generated from the models by `make schemas`; do not edit. -->\n"


def reference_pages() -> Mapping[str, str]:
    """Returns the Markdown of each file by name, including the index."""
    pages = {f"{kind.lower()}.md": _page(api_version, kind) for api_version, kind in KINDS}
    pages |= {"README.md": _index(), "cli.md": cli_page(), "metrics.md": metrics_page()}
    return dict(sorted(pages.items()))


def kept_pages() -> Mapping[str, str]:
    """Returns those that are in the repository."""
    return {name: text for name, text in reference_pages().items() if name in _KEPT}


def _index() -> str:
    rows = [
        f"| [{kind}]({kind.lower()}.md) | `{api_version}` | {_sentence(kind_schema(api_version, kind))} |"
        for (api_version, kind) in sorted(KINDS, key=lambda key: key[1])
    ]
    lines = [_GENERATED, "# Reference\n", "| kind | apiVersion | what it is |\n|---|---|---|", *rows]
    lines += [f"\n[Measures of source type Kubernetes](../../{_SOURCES_PAGE}#measures)\n"]
    lines += ["[Command line](cli.md): every verb with its arguments, and the flags of the agent\n"]
    lines += ["[Metrics](metrics.md): those of the agent and of the reconciler\n"]
    return "\n".join(lines)


def _page(api_version: str, kind: str) -> str:
    schema = kind_schema(api_version, kind)
    lines = [_GENERATED, f"# {kind}", "", f"`{api_version}`. {_sentence(schema)}", "", *_example(kind), ""]
    lines += ["## Fields", "", *_table(_rows(schema, schema["$defs"])), ""]
    rules = sorted(
        {f"- `{path}`: {rule.message}." for path, model in _models(schema) for rule in rules_of(model)}
    )
    if rules:
        lines += ["Between fields:", "", *rules, ""]
    if status := _status(kind):
        lines += ["## Status", "", "Written on the hub by the reconciler, never by people.", ""]
        lines += [*_table(_rows(status, {}, "status")), ""]
    return "\n".join(lines)


def _example(kind: str) -> list[str]:
    files = (
        file for fleet in _FLEETS for glob in ("*.yaml", "*/*.yaml") for file in sorted(fleet.glob(glob))
    )
    documents = (part.strip("\n") for file in files for part in file.read_text("utf-8").split("\n---\n"))
    document = next(part for part in documents if f"\nkind: {kind}\n" in part)
    kept = [line for line in document.splitlines() if not line.startswith("# yaml-language-server:")]
    return ["```yaml", *kept, "```"]


def _table(rows: Iterator[str]) -> list[str]:
    return ["| field | type | default | meaning |", "|---|---|---|---|", *rows]


def _rows(schema: Schema, definitions: Schema, prefix: str = "") -> Iterator[str]:
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        inner, _ = _resolved(field, definitions)
        meaning, default = _sentence(field | inner | field), _default(name, field, required)
        yield f"| `{path}` | {_type(field, definitions)} | {default} | {meaning} |"
        child, suffix = (
            (_resolved(inner["items"], definitions)[0], "[]") if inner.get("type") == "array" else (inner, "")
        )
        if "properties" in child:
            yield from _rows(child, definitions, path + suffix)


def _models(schema: Schema) -> Iterator[tuple[str, str]]:
    """Path and model name of every object below a schema that has fields."""

    def walk(node: Schema, path: str) -> Iterator[tuple[str, str]]:
        inner, model = _resolved(node, schema["$defs"])
        if model:
            yield path, model
        if inner.get("type") == "array":
            yield from walk(inner["items"], f"{path}[]")
        for name, child in inner.get("properties", {}).items():
            yield from walk(child, f"{path}.{name}" if path else name)

    yield from walk(schema, "")


def _resolved(field: Schema, definitions: Schema) -> tuple[Schema, str]:
    """The type of a field's value, and the name of its model."""
    if len(choices := _choices(field)) == 1:
        return _resolved(choices[0], definitions)
    if "$ref" in field:
        name = field["$ref"].removeprefix("#/$defs/")
        return definitions[name], name
    return field, ""


def _choices(field: Schema) -> list[Schema]:
    return [choice for choice in field.get("anyOf", ()) if choice.get("type") != "null"]


def _type(field: Schema, definitions: Schema) -> str:
    inner, _ = _resolved(field, definitions)
    if choices := _choices(inner):
        return " or ".join(_type(choice, definitions) for choice in choices)
    if "const" in inner:
        return f"`{inner['const']}`"
    if "enum" in inner:
        return ", ".join(f"`{value}`" if value else "empty" for value in inner["enum"])
    match inner.get("type"):
        case "array":
            return f"list of {_type(inner['items'], definitions)}"
        case "object" if isinstance(inner.get("additionalProperties"), dict):
            return f"map to {_type(inner['additionalProperties'], definitions)}"
        case "integer" | "number" as kind:
            return f"{kind}{_bounds(inner)}"
        case str() as kind:
            return kind
        case _:
            return "any"


def _bounds(field: Schema) -> str:
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and high is not None:
        return f" {low} to {high}"
    return f", at least {low}" if low is not None else ""


def _default(name: str, field: Schema, required: set[str]) -> str:
    if name in required:
        return "required"
    default: Any = field.get("default")
    if default in (None, "", [], {}) or isinstance(default, dict):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return ", ".join(f"`{item}`" for item in default) if isinstance(default, list) else f"`{default}`"


def _sentence(field: Schema) -> str:
    description: str = field.get("description", "")
    return " ".join(description.split()).replace("|", "\\|")


def _status(kind: str) -> Schema:
    for crd in crds():
        if crd["spec"]["names"]["kind"] == kind:
            status: Schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
            return status if "properties" in status else {}
    return {}


if __name__ == "__main__":
    for path in write_tree(kept_pages(), Path("docs/reference/fields")):
        sys.stdout.write(f"{path}\n")
