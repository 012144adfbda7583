"""Generates the pages of docs/reference/fields/.

There is one per authored kind, with an example and every field, one of the command line, and one of
the metrics. The site has all; `python -m tools.reference` writes those that are kept in git.

Guaranteed: pages are generated as a whole from models, parsers and metrics, so they are never
edited by hand.
"""

import argparse
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry

from dsf_agent.configuration import settings
from dsf_agent.metrics import AgentMetrics
from dsf_runtime.clock import HubClock
from dsf_wire.dimension import LABELS
from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL, label_of
from gitops_dsf.cli.helptext import HelpFormatter
from gitops_dsf.cli.main import VERBS, verb_parser
from gitops_dsf.cli.schema import write_tree
from gitops_dsf.cli.template import repo_template
from gitops_dsf.reconciler.metrics import ReconcilerMetrics
from gitops_dsf.repository.model.declared import KINDS
from gitops_dsf.repository.model.field_rules import Schema, rules_of
from gitops_dsf.schema.crd import crds
from gitops_dsf.schema.editor import kind_schema

_TEMPLATE: Final = repo_template()
_FLEETS: Final = (
    _TEMPLATE,
    _TEMPLATE / "on-request/examples",
    Path(__file__).parents[1] / "examples" / "fleet",
)
"""Folders with examples of all kinds: the first one of a kind is shown."""
_SOURCES_PAGE: Final = "scores/sources.md"
_AGENT_PAGE: Final = "operate/agent.md"
_ALERTS_PAGE: Final = "operate/monitoring.md"
_KEPT: Final = ("dynamicscorer.md", "fleetrepository.md", "scoredapplication.md")
_FIELDS_HEAD: Final = "| field | type | default | meaning |\n|---|---|---|---|"
_METRICS_HEAD: Final = "| metric | type | labels | meaning |\n|---|---|---|---|"
_GENERATED: Final = "<!-- Generated from the models by `make schemas`; do not edit. -->\n"


class _Field(NamedTuple):
    row: str
    inside: str
    """The path of the fields below it."""
    model: str
    """The name of the model that has them; empty if there are none."""


@cache
def reference_pages() -> Mapping[str, str]:
    """Returns the Markdown of each file by name, including the index."""
    pages: dict[str, str] = {}
    rows: list[str] = []
    for api_version, kind in sorted(KINDS, key=lambda key: key[1]):
        schema = kind_schema(api_version, kind)
        pages[f"{kind.lower()}.md"] = _page(api_version, kind, schema)
        rows.append(f"| [{kind}]({kind.lower()}.md) | `{api_version}` | {_sentence(schema)} |")
    pages |= {"README.md": _index(rows), "cli.md": cli_page(), "metrics.md": metrics_page()}
    return dict(sorted(pages.items()))


def kept_pages() -> Mapping[str, str]:
    """Returns those that are in the repository."""
    return {name: text for name, text in reference_pages().items() if name in _KEPT}


def _index(rows: Iterable[str]) -> str:
    lines = [
        _GENERATED,
        "# Reference\n",
        "| kind | apiVersion | what it is |\n|---|---|---|",
        *rows,
    ]
    lines += [f"\n[Measures of source type Kubernetes](../../{_SOURCES_PAGE}#measures)\n"]
    lines += ["[Command line](cli.md): every verb with its arguments, and the flags of the agent\n"]
    lines += ["[Metrics](metrics.md): those of the agent and of the reconciler\n"]
    return "\n".join(lines)


def _page(api_version: str, kind: str, schema: Schema) -> str:
    lines = [
        _GENERATED,
        f"# {kind}",
        "",
        f"`{api_version}`. {_sentence(schema)}",
        "",
        *_example(kind),
        "",
    ]
    fields = list(_fields(schema, schema["$defs"]))
    lines += ["## Fields", "", _FIELDS_HEAD]
    rules: set[str] = set()
    for field in fields:
        lines.append(field.row)
        for rule in rules_of(field.model):
            rules.add(f"- `{field.inside}`: {rule.message}.")
    lines.append("")
    if rules:
        lines += ["Between fields:", "", *sorted(rules), ""]
    status = _status(kind)
    if "properties" in status:
        lines += ["## Status", "", "Written on the hub by the reconciler, never by people.", ""]
        lines.append(_FIELDS_HEAD)
        # The schema of a CRD has no definitions: `structural` wrote them in place.
        for field in _fields(status, {}, "status"):
            lines.append(field.row)
        lines.append("")
    return "\n".join(lines)


def _status(kind: str) -> Schema:
    """The schema of a kind's status; empty for kinds that are not on a hub."""
    for crd in crds():
        if crd["spec"]["names"]["kind"] == kind:
            [version] = crd["spec"]["versions"]
            status: Schema = version["schema"]["openAPIV3Schema"]["properties"]["status"]
            return status
    return {}


def _example(kind: str) -> list[str]:
    # An example fleet is validated by the tests, so the example of a page is right.
    document = next(text for text in _documents() if f"\nkind: {kind}\n" in text)
    lines = ["```yaml"]
    for line in document.splitlines():
        # The line shows editors the place of the schema, by a path that does not hold on the page.
        if not line.startswith("# yaml-language-server:"):
            lines.append(line)
    return [*lines, "```"]


def _documents() -> Iterator[str]:
    """The YAML documents of all example fleets."""
    for fleet in _FLEETS:
        for glob in ("*.yaml", "*/*.yaml"):
            for file in sorted(fleet.glob(glob)):
                for document in file.read_text("utf-8").split("\n---\n"):
                    yield document.strip("\n")


def _fields(schema: Schema, definitions: Schema, prefix: str = "") -> Iterator[_Field]:
    for name, field in schema.get("properties", {}).items():
        path = name
        if prefix:
            path = f"{prefix}.{name}"
        inner, model = _resolved(field, definitions)
        # The description of a field counts more than that of its type.
        meaning = _sentence(field | inner | field)
        default = _default(name, field, schema.get("required", ()))
        row = f"| `{path}` | {_type(field, definitions)} | {default} | {meaning} |"
        if inner.get("type") == "array":
            path += "[]"
            inner, model = _resolved(inner["items"], definitions)
        yield _Field(row, path, model)
        yield from _fields(inner, definitions, path)


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
        return ", ".join(_value(value) for value in inner["enum"])
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


def _value(value: object) -> str:
    if not value:
        return "empty"
    return f"`{value}`"


def _bounds(field: Schema) -> str:
    low = field.get("minimum")
    high = field.get("maximum")
    if low is None:
        return ""
    if high is None:
        return f", at least {low}"
    return f" {low} to {high}"


def _default(name: str, field: Schema, required: Collection[str]) -> str:
    if name in required:
        return "required"
    default: Any = field.get("default")
    # The fields of a section have defaults of their own, which the table shows below it.
    if default in (None, "", [], {}) or isinstance(default, dict):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
        return ", ".join(f"`{value}`" for value in default)
    return f"`{default}`"


def _sentence(field: Schema) -> str:
    description: str = field.get("description", "")
    return " ".join(description.split()).replace("|", "\\|")


def cli_page() -> str:
    """The page of the command line: what every program prints with --help."""
    lines = [
        "# Command line",
        "",
        f"What `gitops-dsf VERB --help` prints, and [the agent](../../{_AGENT_PAGE}) of clusters.",
        "",
        *(f"- [{name}](#{name}): {verb.help}" for name, verb in VERBS.items()),
        "",
    ]
    for name in VERBS:
        lines += _section(name, verb_parser(name), heading="##")
    lines += _section("gitops-dsf-agent", settings.parser(), heading="##")
    return "\n".join(lines)


def _section(name: str, parser: argparse.ArgumentParser, *, heading: str) -> Iterator[str]:
    parser.formatter_class = partial(HelpFormatter, width=100)
    yield from (f"{heading} {name}", "", "```text", parser.format_help().strip(), "```", "")
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for child, child_parser in action.choices.items():
                yield from _section(f"{name} {child}", child_parser, heading=f"{heading}#")


def metrics_page() -> str:
    """The page of the metrics of the agent and of the reconciler, as the programs export them."""
    agent = AgentMetrics(cluster="")
    agent.watch_hub_offset(HubClock())
    raw = "Raw score of the last cycle. Missing labels are empty, values are cut at 256 characters."
    raw_labels = (CLUSTER_LABEL, *map(label_of, LABELS), SCORE_NAME_LABEL)
    intro = (
        f"# Metrics\n\n[Monitoring](../../{_ALERTS_PAGE}) has alerts. Histograms have `_bucket`,"
        " `_count` and `_sum`.\n"
    )
    lines = [intro]
    lines += ["## Of the agent\n\nThe usual `process_*` metrics are there, too.\n", _METRICS_HEAD]
    lines += [_family(METRIC, "gauge", raw_labels, raw), *_families(agent.registry)]
    lines += ["\n## Of the reconciler\n\nThe leader exports them.\n", _METRICS_HEAD]
    lines += [*_families(ReconcilerMetrics().registry), ""]
    return "\n".join(lines)


def _families(registry: CollectorRegistry) -> Iterator[str]:
    # The client has no public list of its collectors, and no public names of their labels.
    for collector in list(registry._collector_to_names):  # noqa: SLF001
        for family in collector.collect():
            if family.name.startswith("process_"):
                continue
            labels = getattr(collector, "_labelnames", ()) or getattr(family, "_labelnames", ())
            name = family.name
            if family.type == "counter":
                name = f"{family.name}_total"
            yield _family(name, family.type, labels, family.documentation)


def _family(name: str, kind: str, labels: tuple[str, ...], meaning: str) -> str:
    listed = ", ".join(f"`{label}`" for label in labels)
    return f"| `{name}` | {kind} | {listed} | {meaning} |"


if __name__ == "__main__":
    for path in write_tree(kept_pages(), Path("docs/reference/fields")):
        sys.stdout.write(f"{path}\n")
