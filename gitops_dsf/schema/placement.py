"""The JSON Schema of a hand-written Placement's spec: OCM's fields, from the rule that knows them, with the
types and limits that an editor can check.
"""

from typing import Final

from gitops_dsf.hub.placements import BUILT_INS
from gitops_dsf.hub.selectors import OPERATORS
from gitops_dsf.resolve.rules.known_fields import PLACEMENT, Fields
from gitops_dsf.resolve.rules.prioritizers import MODES
from gitops_dsf.schema.rules import Schema

_LISTS: Final = frozenset(
    {
        "configurations",
        "decisionGroups",
        "matchExpressions",
        "predicates",
        "spreadConstraints",
        "tolerations",
    }
)
"""Fields that are lists of objects. Other objects with known fields are single ones."""
_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_VALUES: Final[dict[str, Schema]] = {
    "addOn.resourceName": _TEXT,
    "addOn.scoreName": _TEXT,
    "celSelector.celExpressions": _TEXTS,
    "configurations.weight": {"type": "integer", "minimum": -10, "maximum": 10},
    "decisionGroups.groupName": _TEXT,
    "groupStrategy.clustersPerDecisionGroup": {"type": ["integer", "string"]},
    "labelSelector.matchLabels": {"type": "object", "additionalProperties": _TEXT},
    "matchExpressions.key": _TEXT,
    "matchExpressions.operator": {"enum": list(OPERATORS)},
    "matchExpressions.values": _TEXTS,
    "prioritizerPolicy.mode": {"enum": list(MODES)},
    "scoreCoordinate.builtIn": {"enum": list(BUILT_INS)},
    "scoreCoordinate.type": {"enum": ["AddOn", "BuiltIn"]},
    "spec.clusterSets": _TEXTS,
    "spec.numberOfClusters": _COUNT,
    "tolerations.effect": {"enum": ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]},
    "tolerations.key": _TEXT,
    "tolerations.operator": {"enum": ["Equal", "Exists"]},
    "tolerations.tolerationSeconds": {"type": "integer"},
    "tolerations.value": _TEXT,
}
"""What a field holds, by the name of its object and its own. Fields that OCM does not read hold anything."""


def placement_spec() -> Schema:
    """The schema of `spec` of a Placement."""
    return _object("spec", PLACEMENT)


def _object(name: str, fields: Fields) -> Schema:
    return {
        "type": "object",
        "properties": {field: _field(name, field, inside) for field, inside in fields.items()},
        "additionalProperties": False,
    }


def _field(owner: str, name: str, inside: Fields | None) -> Schema:
    if inside is None:
        return dict(_VALUES.get(f"{owner}.{name}", {}))
    found = _object(name, inside)
    return {"type": "array", "items": found} if name in _LISTS else found
