"""Checks prioritizers of raw Placements: which OCM rejects, and which it silently counts as 0.

See docs/scheduler.md#what-evicts-everything and docs/scheduler.md#what-the-scores-do-not-say.
"""

from collections.abc import Iterator

from dsf_wire.dimension import can_yield
from gitops_dsf.diagnostics import Diagnostic, codes
from gitops_dsf.hub.placements import BUILT_INS
from gitops_dsf.repository.load import Path
from gitops_dsf.repository.model.suggestion import did_you_mean
from gitops_dsf.resolve.context import Context
from gitops_dsf.resolve.rules.published_scores import how_zero_wins
from gitops_dsf.resolve.rules.raw_document import Reader

MODES = ("Additive", "Exact")
_POLICY: Path = ("spec", "prioritizerPolicy")


def prioritizers_work(context: Context) -> Iterator[Diagnostic]:
    """Checks mode, types, names and weights in every raw Placement."""
    for item in context.declared.placements:
        reader = Reader(item.document)
        _policy(context, reader)
        yield from reader.found


def _policy(context: Context, reader: Reader) -> None:
    policy = reader.mapping(*_POLICY)
    mode = reader.text(*_POLICY, "mode")
    if mode is not None and mode not in MODES:
        hint = did_you_mean(mode, MODES) or f"write {' or '.join(MODES)}"
        reader.report(
            codes.PRIORITIZER, (*_POLICY, "mode"), f"OCM refuses mode {mode}, and evicts everything", hint
        )
    elif policy and mode is None:
        message = "mode is left to the API server: Additive, which adds Balance and Steady"
        reader.report(
            codes.IMPLICIT_DEFAULT, _POLICY, message, "write mode: Additive, or mode: Exact", at_key=True
        )
    steady, scored = mode != "Exact", False
    seen: set[tuple[str, ...]] = set()
    for place in reader.items(*_POLICY, "configurations"):
        weight = _weight(reader, place)
        kind = reader.text(*place, "scoreCoordinate", "type")
        coordinate = reader.mapping(*place, "scoreCoordinate")
        if kind is None and "addOn" in coordinate and "builtIn" not in coordinate:
            message = "type is missing: the API server takes BuiltIn, and OCM evicts everything"
            reader.report(
                codes.PRIORITIZER, (*place, "scoreCoordinate"), message, "write type: AddOn", at_key=True
            )
            kind = "AddOn"
        elif kind is None:
            message = "type is left to the API server, which takes BuiltIn"
            reader.report(
                codes.IMPLICIT_DEFAULT,
                (*place, "scoreCoordinate"),
                message,
                "write type: BuiltIn or type: AddOn",
                at_key=True,
            )
        key = (
            _built_in(reader, place)
            if kind in {None, "BuiltIn"}
            else _add_on(context, reader, place, str(kind), weight)
        )
        scored = scored or (kind not in {None, "BuiltIn"} and weight != 0)
        if key == ("BuiltIn", "Steady"):
            steady = weight > 0
        if key and key in seen:
            message = (
                f"{'/'.join(key[1:])} is listed twice;"
                f" {'the weights add up' if key[0] != 'BuiltIn' else 'the last one wins'}"
            )
            reader.report(
                codes.DUPLICATE_COORDINATE,
                (*place, "scoreCoordinate"),
                message,
                "keep one entry",
                at_key=True,
            )
        seen.add(key)
    if scored and not steady:
        message = "without Steady a workload moves as soon as another cluster is one point better"
        reader.report(
            codes.NO_STEADY,
            (*_POLICY, "configurations"),
            message,
            "add the BuiltIn prioritizer Steady with a weight",
            at_key=True,
        )


def _weight(reader: Reader, place: Path) -> int:
    weight = reader.whole(*place, "weight")
    if weight is None:
        if reader.mapping(*place).get("weight") is None:
            reader.report(
                codes.IMPLICIT_DEFAULT,
                place,
                "weight is left to the API server, which takes 1",
                "write weight: 1",
            )
        return 1
    if not -10 <= weight <= 10:
        reader.report(
            codes.PRIORITIZER,
            (*place, "weight"),
            f"{weight} is not between -10 and 10",
            "write a weight from -10 to 10",
        )
    return weight


def _built_in(reader: Reader, place: Path) -> tuple[str, ...]:
    where = (*place, "scoreCoordinate")
    name = reader.text(*where, "builtIn")
    if reader.mapping(*where, "addOn"):
        message = "a BuiltIn prioritizer with an addOn block counts as another one and runs twice"
        reader.report(
            codes.PRIORITIZER, (*where, "addOn"), message, "write type: AddOn, or remove addOn", at_key=True
        )
    if name not in BUILT_INS:
        hint = f"OCM has {', '.join(BUILT_INS)}"
        message = (
            f"OCM has no prioritizer {name}, and evicts everything"
            if name
            else "builtIn is missing: OCM evicts everything"
        )
        reader.report(codes.PRIORITIZER, (*where, "builtIn"), message, hint)
        return ()
    return ("BuiltIn", name)


def _add_on(context: Context, reader: Reader, place: Path, kind: str, weight: int) -> tuple[str, ...]:
    where = (*place, "scoreCoordinate")
    if kind != "AddOn":
        hint = did_you_mean(kind, ("AddOn", "BuiltIn")) or "write BuiltIn or AddOn"
        reader.report(codes.PRIORITIZER, (*where, "type"), f"there is no prioritizer type {kind}", hint)
        return ()
    resource, score = reader.text(*where, "addOn", "resourceName"), reader.text(*where, "addOn", "scoreName")
    if not resource or not score:
        missing = "resourceName" if not resource else "scoreName"
        message = f"addOn.{missing} is missing: every cluster would count as 0"
        reader.report(
            codes.PRIORITIZER,
            (*where, "addOn", missing),
            message,
            "name the AddOnPlacementScore and the item in it",
        )
        return ()
    _producer(context, reader, (*where, "addOn"), weight)
    return ("AddOn", resource, score)


def _producer(context: Context, reader: Reader, place: Path, weight: int) -> None:
    resource, score = reader.text(*place, "resourceName") or "", reader.text(*place, "scoreName") or ""
    scorers = {scorer.resource_name: scorer for scorer in context.scorers.values()}
    scorer = scorers.get(resource)
    if scorer is None:
        if context.is_uncertain("DynamicScorer"):
            return
        if context.overlays.keys() != context.scorers.keys():
            return  # an incomplete scorer has its own finding, and may be the one that is meant
        close = did_you_mean(resource, scorers)
        if close:
            message = f"no scorer here publishes {resource}: every cluster would count as 0"
            reader.report(codes.UNKNOWN_SCORER, (*place, "resourceName"), message, close)
        else:
            message = (
                f"no scorer here publishes {resource}; if no other add-on does, every cluster counts as 0"
            )
            reader.report(
                codes.FOREIGN_SCORE,
                (*place, "resourceName"),
                message,
                "make sure that an add-on of the fleet publishes it",
            )
        return
    if not can_yield(scorer.dimension_format, score, score_name=scorer.score_name):
        message = f"{scorer.name} names its items {scorer.dimension_format}, which never gives {score}"
        reader.report(
            codes.DIMENSION, (*place, "scoreName"), message, "name an item that the scorer publishes"
        )
    message = how_zero_wins(scorer, weight)
    if message:
        hint = (
            "give the scorer a scoreRange"
            if weight > 0
            else "swap outputMin and outputMax of the scorer's scoreRange, and write a positive weight"
        )
        reader.report(codes.MISSING_BEATS_REAL, (*place, "resourceName"), message, hint)
