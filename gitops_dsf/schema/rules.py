"""Rules between fields, which types cannot express: as CEL for the hub's API server, and as JSON Schema for
editors.

The models check the same rules in Python. Tests compare all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Schema = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule between fields of one object. `cel` is empty if the kind has no CRD, `json` if JSON Schema
    cannot compare values.
    """

    message: str
    cel: str = ""
    json: Mapping[str, Any] = field(default_factory=dict)


def _has(name: str, schema: Schema) -> Schema:
    return {"required": [name], "properties": {name: schema}}


def given(name: str) -> Schema:
    """JSON Schema for "this field is present and not null"."""
    return _has(name, {"not": {"type": "null"}})


def _not_empty_list(name: str) -> Schema:
    return _has(name, {"type": "array", "minItems": 1})


_ONE_PLACEMENT: Final = Rule(
    message="write exactly one of application and placement",
    json={"oneOf": [given("application"), given("placement")]},
)
_ONE_SCORER: Final = Rule(
    message="write exactly one of scorer and resource", json={"oneOf": [given("scorer"), given("resource")]}
)
_ITEM_OF_RESOURCE: Final = Rule(
    message="a score of a resource needs its dimension, the name of the item in status.scores",
    json={"if": given("resource"), "then": given("dimension")},
)

_TOKEN_OF_POD: Final = _has("serviceAccountToken", {"const": True})
_SENDS_TOKEN: Final = {"anyOf": [given("tokenSecretRef"), _TOKEN_OF_POD], "type": "object"}

RULES: Final[Mapping[str, tuple[Rule, ...]]] = {
    "Application": (
        Rule(
            message="write exactly one of source and sources",
            json={"oneOf": [given("source"), _not_empty_list("sources")]},
        ),
    ),
    "Auth": (
        Rule(
            message="tokenSecretRef and serviceAccountToken are two tokens for one request; keep one",
            cel="!(has(self.tokenSecretRef) && self.serviceAccountToken)",
            json={"not": {"allOf": [given("tokenSecretRef"), _TOKEN_OF_POD]}},
        ),
    ),
    "DynamicScorerSpec": (
        Rule(
            message=(
                "write configURL and configSyncMode, or scoring.type: Query if the query itself gives the"
                " score"
            ),
            cel=(
                "(has(self.scoring) && has(self.scoring.type) && self.scoring.type == 'Query')"
                " || (has(self.configURL) && has(self.configSyncMode))"
            ),
            json={
                "if": _has("scoring", _has("type", {"const": "Query"})),
                "else": {"allOf": [given("configURL"), given("configSyncMode")]},
            },
        ),
    ),
    "Expected": (
        Rule(
            message="a test expects something: write scores, decisions, moves or findings",
            json={"anyOf": [_not_empty_list(name) for name in ("scores", "decisions", "moves", "findings")]},
        ),
    ),
    "ExpectedDecision": (_ONE_PLACEMENT,),
    "ExpectedMoves": (_ONE_PLACEMENT,),
    "ExpectedScore": (
        _ONE_SCORER,
        _ITEM_OF_RESOURCE,
        Rule(
            message="write exactly one of value and state", json={"oneOf": [given("value"), given("state")]}
        ),
    ),
    "GivenDecision": (_ONE_PLACEMENT,),
    "GivenScore": (_ONE_SCORER, _ITEM_OF_RESOURCE),
    "Header": (
        Rule(
            message="a header has a value or a secretRef: write exactly one of them",
            cel="has(self.value) != has(self.secretRef)",
            json={"oneOf": [given("value"), given("secretRef")]},
        ),
    ),
    "Mask": (
        Rule(
            message=(
                "a mask names its clusters by clusterName or by clusterSelector: write exactly one of them"
            ),
            cel="has(self.clusterName) != has(self.clusterSelector)",
            json={"oneOf": [given("clusterName"), given("clusterSelector")]},
        ),
    ),
    "MetricSourceVariant": (
        Rule(
            message="auth sends a token and basicAuth a password in the same header; keep one",
            cel=(
                "!(has(self.basicAuth) && has(self.auth)"
                " && (has(self.auth.tokenSecretRef) || self.auth.serviceAccountToken))"
            ),
            json={"not": {"allOf": [given("basicAuth"), _has("auth", _SENDS_TOKEN)]}},
        ),
    ),
    "ScoreRange": (
        Rule(
            message="min must be below max; for scores where lower is better swap outputMin and outputMax",
            cel="self.min < self.max",
        ),
        Rule(
            message="outputMin and outputMax are equal: every cluster would have the same score",
            cel="self.outputMin != self.outputMax",
        ),
    ),
    "ScoredApplicationSpec": (
        Rule(
            message="write scores, or in placement a ref to a ScoredPlacement, which has them; never both",
            json={"oneOf": [given("scores"), _has("placement", given("ref"))]},
        ),
    ),
    "Toleration": (
        Rule(
            message="a toleration without key needs operator: Exists, and operator Exists takes no value",
            json={
                "if": _has("operator", {"const": "Exists"}),
                "then": {"properties": {"value": {"enum": [None, ""]}}},
                "else": _has("key", {"type": "string", "minLength": 1}),
            },
        ),
    ),
}
"""Rules by name of the model."""
