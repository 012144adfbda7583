"""The JSON that verbs print, as types: `schemas/output/VERB.json` is made of them.

Programs may rely on these keys. Keys are only ever added, so the schemas allow others.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict

import msgspec

from gitops_dsf.backtest.result import BacktestResult
from gitops_dsf.hub.snapshot import HubSource
from gitops_dsf.journal.record import Record
from gitops_dsf.schema.editor import DRAFT
from gitops_dsf.schema.rules import Schema
from gitops_dsf.simulator import Explanation
from gitops_dsf.simulator.verdict import VerdictData
from gitops_dsf.sync import LockResult
from gitops_dsf.views.doctor import Finding as DoctorFinding
from gitops_dsf.views.scoretests.suite import TestOutput
from gitops_dsf.views.status.model import ApplicationView, DecisionFlip

Unknown = Literal["unknown"]
"""In place of a value that cannot be known before the changed scorers have run."""


class Place(TypedDict):
    """Where something is written. Line and column count from 1."""

    file: str
    line: int
    column: int


class ErrorFinding(Place):
    """A finding of `validate` that is an error."""

    code: str
    message: str
    hint: str


class Finding(ErrorFinding):
    """A finding of `validate`."""

    severity: Literal["error", "warning", "notice"]


class SimulateOutput(TypedDict):
    """The output of `simulate`."""

    hub: HubSource
    filtersOnly: bool
    placements: list[VerdictData]


class LogOutput(TypedDict):
    """The output of `log`."""

    records: list[Record]
    skipped: list[str]


class FieldChange(TypedDict):
    """A field before and after a change. Null: it is not there."""

    path: str
    before: Any
    after: Any


class Credential(TypedDict):
    section: str
    kind: str
    secret: str | None
    to: str


class ScorerChange(TypedDict):
    name: str
    change: str
    fields: list[FieldChange]
    gained: list[str]
    lost: list[str]
    kept: int
    effect: str
    unknownBecause: list[str]
    otherSource: list[str]
    credentials: list[Credential]


class SourceChange(TypedDict):
    kind: str
    names: list[str]
    change: str
    fields: list[FieldChange]


class PlacementChange(TypedDict):
    placement: str
    change: str
    fields: list[FieldChange]


class Count(TypedDict):
    added: int
    removed: int
    changed: int
    total: int


class ClusterCount(Count):
    joined: list[str]
    left: list[str]
    edited: list[str]
    gaining: int
    losing: int
    altered: int


class Summary(TypedDict):
    scorers: Count
    clusters: ClusterCount
    works: Count
    placements: Count
    applicationSets: Count
    other: Count


class Term(TypedDict):
    name: str
    before: int | None
    after: int | Unknown | None
    weightBefore: int | None
    weightAfter: int | None
    unknownBecause: str | None


class Standing(TypedDict):
    cluster: str
    before: int | None
    after: int | Unknown | None
    terms: list[Term]


Move = TypedDict(
    "Move",
    {
        "application": str,
        "followers": list[str],
        "from": list[str],
        "to": list[str] | Unknown,
        "stays": int,
        "reason": str,
        "scores": list[Standing],
    },
)


class Comparison(TypedDict):
    summary: Summary
    scorers: list[ScorerChange]
    sources: list[SourceChange]
    placements: list[PlacementChange]
    moves: list[Move] | None
    pending: list[str]
    warnings: list[str]


class DiffOutput(TypedDict):
    """The output of `diff`. The comparison is null if a side has errors, its moves without data of a hub."""

    base: str
    head: str
    notes: list[str]
    differs: bool
    foreignFiles: list[str]
    hub: HubSource
    baseErrors: list[ErrorFinding]
    headErrors: list[ErrorFinding]
    comparison: Comparison | None


class UnreadPart(TypedDict):
    what: str
    why: str
    message: str


class StatusHub(TypedDict):
    origin: str
    now: str
    clusters: int
    scores: int
    unread: list[UnreadPart]


class Condition(TypedDict):
    type: str
    status: str
    reason: str
    message: str


class ScorerSummary(TypedDict):
    clusters: dict[str, int]
    min: int | None
    median: int | None
    max: int | None
    atDefault: int | None
    oldestSeconds: int | None


class ClusterScore(TypedDict):
    cluster: str
    state: str
    expected: bool
    values: dict[str, int]
    validUntil: str | None
    ageSeconds: int | None


class ScorerStatus(TypedDict):
    name: str
    scoreName: str
    resource: str
    health: str | None
    conditions: list[Condition]
    suspendedBy: str | None
    intervalSeconds: int
    ttlSeconds: int
    summary: ScorerSummary | None
    scores: list[ClusterScore]


class PlacementStatus(TypedDict):
    placement: str
    numberOfClusters: int | None
    eligible: int | None
    decided: list[str] | None
    next: list[str] | None
    settled: bool
    note: str | None
    countedAsZero: list[str]
    flips: list[DecisionFlip]


class StatusOutput(TypedDict):
    """The output of `status`."""

    hub: StatusHub
    scorers: list[ScorerStatus]
    placements: list[PlacementStatus]
    applications: list[ApplicationView]


class DoctorHub(TypedDict):
    origin: str
    now: str
    clockOffsetSeconds: float | None


class DoctorOutput(TypedDict):
    """The output of `doctor`."""

    hub: DoctorHub
    findings: list[DoctorFinding]
    summary: dict[str, int]


class CheckFinding(TypedDict):
    check: str
    severity: str
    message: str
    hint: str


class CheckOutput(TypedDict):
    """The output of `scorer check`."""

    url: str
    errors: int
    warnings: int
    findings: list[CheckFinding]


ExplainOutput = msgspec.defstruct(
    "ExplainOutput",
    [
        ("hub", HubSource),
        ("filters_only", bool),
        *((each.name, each.type) for each in msgspec.structs.fields(Explanation)),
    ],
    rename="camel",
)
"""The output of `explain`."""

_OUTPUTS: Final[Mapping[str, tuple[Any, ...]]] = {
    "backtest": (BacktestResult,),
    "diff": (DiffOutput,),
    "doctor": (DoctorOutput,),
    "explain": (ExplainOutput, SimulateOutput),
    "log": (LogOutput,),
    "scorer-check": (CheckOutput,),
    "simulate": (SimulateOutput,),
    "status": (StatusOutput,),
    "sync": (list[LockResult],),
    "test": (TestOutput,),
    "validate": (list[Finding],),
}
"""The shapes that each verb can print."""


def output_schemas() -> Mapping[str, Schema]:
    """The JSON Schema of the output of each verb with `-o json`, by verb."""
    return {verb: _schema(verb, shapes) for verb, shapes in _OUTPUTS.items()}


def _schema(verb: str, shapes: tuple[Any, ...]) -> Schema:
    schemas, definitions = msgspec.json.schema_components(shapes, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        definition.pop("title", None)
    found = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {
        "$schema": DRAFT,
        "title": f"gitops-dsf {verb.replace('-', ' ')} -o json",
        **found,
        "$defs": definitions,
    }
