"""Checks raw Placements for traps of OCM's scheduler that are visible in YAML (docs/scheduler.md#traps)."""

import re
from collections.abc import Iterator

from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.repository.load import Path, value_at
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve import cel
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.known_fields import PLACEMENT
from gitops_dsf.resolve.rules.raw_document import Reader
from gitops_dsf.resolve.rules.references import unknown_set
from gitops_dsf.resolve.rules.unread_fields import UNREAD

_PERCENT = re.compile(r"([1-9][0-9]?|100)%")
_EFFECTS = ("NoSelect", "NoSelectIfNew", "PreferNoSelect")
_MAP_ACCESS = re.compile(r"managedCluster\.(?:metadata\.(labels|annotations))\[\s*[\"']([^\"']+)[\"']\s*\]")


def placements_work(context: Context) -> Iterator[Diagnostic]:
    """Checks every raw Placement, except its prioritizers."""
    for item in context.declared.placements:
        reader = Reader(item.document)
        reader.known_fields(PLACEMENT, "spec")
        _unread(reader)
        _number(reader)
        _sets(context, reader)
        _predicates(reader)
        _tolerations(reader)
        _groups(reader)
        yield from reader.found


def _unread(reader: Reader) -> None:
    spec = reader.mapping("spec")
    for field, hint in UNREAD.items():
        if spec.get(field) is not None:
            message = f"{field} has no effect: no controller of OCM reads it"
            reader.report(codes.UNREAD_FIELD, ("spec", field), message, hint, at_key=True)


def _number(reader: Reader) -> None:
    number = reader.whole("spec", "numberOfClusters")
    if number is not None and number < 1:
        effect = "0 selects nothing and evicts everything"
        if number < 0:
            effect = (
                f"at {number} OCM's placement controller panics whenever it looks at this Placement, whose"
                " old decision stays"
            )
        reader.report(
            codes.CLUSTER_COUNT,
            ("spec", "numberOfClusters"),
            effect,
            "write 1 or more, or leave it out for all",
        )


def _sets(context: Context, reader: Reader) -> None:
    for place, name in reader.texts("spec", "clusterSets"):
        if not context.inventory.knows_set(name) and not context.is_malformed("ManagedClusterSet", name):
            reader.report(codes.UNKNOWN_SET, place, *unknown_set(context, name))


def _predicates(reader: Reader) -> None:
    for place in reader.items("spec", "predicates"):
        where = (*place, "requiredClusterSelector")
        reader.mapping(*where)
        reader.mapping(*where, "celSelector")
        reader.selector(*where, "labelSelector")
        reader.selector(*where, "claimSelector")
        for expression_place, text in reader.texts(*where, "celSelector", "celExpressions"):
            _expression(reader, expression_place, text)


def _expression(reader: Reader, place: Path, text: str) -> None:
    """Checks that the expression compiles and yields a bool. Which clusters it selects is left to the
    simulator.
    """
    if not text.strip():
        reader.report(
            codes.CEL_SYNTAX,
            place,
            "an empty CEL expression: OCM refuses the Placement, and evicts everything",
            "remove the item",
        )
        return
    mistakes = cel.check(text)
    for mistake in mistakes:
        position = (
            reader.document.at(place)
            if mistake.offset is None
            else reader.document.inside(place, mistake.offset)
        )
        reader.found.append(codes.CEL_SYNTAX.at(position, mistake.message, mistake.hint))
    if mistakes:
        return
    if ".scores(" in text:
        message = (
            "OCM looks at scores in CEL at most every 10 minutes, and does not see that a score has expired"
        )
        reader.report(
            codes.CEL_PREDICATE,
            place,
            message,
            "rank by the score with a prioritizer, and use CEL only for its existence",
        )
    for match in _MAP_ACCESS.finditer(text):
        container, key = match[1], match[2]
        if not re.search(rf"[\"']{re.escape(key)}[\"']\s+in\s+managedCluster\.metadata\.{container}", text):
            message = f"a cluster without {container}[{key}] is dropped with an error that is not reported"
            hint = f'guard it: "{key}" in managedCluster.metadata.{container} && ...'
            reader.report(codes.CEL_PREDICATE, place, message, hint)


def _tolerations(reader: Reader) -> None:
    for place in reader.items("spec", "tolerations"):
        key, operator = reader.text(*place, "key"), reader.text(*place, "operator")
        value, effect = reader.text(*place, "value"), reader.text(*place, "effect")
        if operator not in {None, "", "Equal", "Exists"}:
            hint = did_you_mean(str(operator), ("Equal", "Exists")) or "write Equal or Exists"
            reader.report(codes.TOLERATION, (*place, "operator"), f"there is no operator {operator}", hint)
        elif not key and operator != "Exists":
            message = (
                "a toleration without key needs operator Exists: OCM calls the Placement misconfigured, and"
                " evicts everything"
            )
            reader.report(codes.TOLERATION, place, message, "write key, or operator: Exists")
        elif operator == "Exists" and value:
            message = (
                "operator Exists takes no value: OCM calls the Placement misconfigured, and evicts everything"
            )
            reader.report(
                codes.TOLERATION,
                (*place, "value"),
                message,
                "remove value, or write operator: Equal",
                at_key=True,
            )
        if effect not in {None, "", *_EFFECTS}:
            hint = did_you_mean(str(effect), _EFFECTS) or f"write {', '.join(_EFFECTS)}, or leave it out"
            reader.report(codes.TOLERATION, (*place, "effect"), f"there is no effect {effect}", hint)


def _groups(reader: Reader) -> None:
    strategy: Path = ("spec", "decisionStrategy", "groupStrategy")
    reader.mapping(*strategy[:-1])
    reader.mapping(*strategy)
    size_place = (*strategy, "clustersPerDecisionGroup")
    size = value_at(reader.document.data, size_place)
    good = size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 1)
    if not good and not (isinstance(size, str) and _PERCENT.fullmatch(size)):
        effect = "makes OCM delete every decision while it reports success"
        hint = (
            f"write {size.strip()} without quotes"
            if isinstance(size, str) and size.strip().isdigit()
            else "write a number, or 1% to 100%"
        )
        reader.report(codes.DECISION_GROUPS, size_place, f"clustersPerDecisionGroup {size!r} {effect}", hint)
    for place in reader.items(*strategy, "decisionGroups"):
        name = reader.text(*place, "groupName")
        if name is None or not 2 <= len(name) <= 63:
            message = "groupName needs 2 to 63 characters: it becomes a label value"
            reader.report(
                codes.DECISION_GROUPS, (*place, "groupName"), message, "write a name of 2 to 63 characters"
            )
        reader.mapping(*place, "groupClusterSelector")
        reader.selector(*place, "groupClusterSelector", "labelSelector")
        reader.selector(*place, "groupClusterSelector", "claimSelector")
