"""What all authored kinds have in common, and rules between fields of one object."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from gitops_dsf.hub.selectors import Requirement as HubRequirement
from gitops_dsf.hub.selectors import Selector, label_key_error, label_value_error

PRODUCT_API: Final = "gitops-dsf.io/v1alpha1"
DSF_API: Final = "dynamic-scoring.open-cluster-management.io/v1alpha1"
OLDER_DSF_API: Final = "dynamic-scoring.open-cluster-management.io/v1"
"""The apiVersion of early releases of the upstream addon. Its fields are the same."""

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
SECRET_KEY = r"^[-._a-zA-Z0-9]+$"  # noqa: S105 - the alphabet of keys, not a key

QUANTITY = r"^[0-9]+(\.[0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
IMAGE = r"^[a-zA-Z0-9]([^\s:]|:[^\s:/])*$"
BRANCH = r"^[a-zA-Z0-9_]([-_+#@=a-zA-Z0-9]|[./][-_+#@=a-zA-Z0-9])*$"
HOST_GLOB = r"^[^\s/:]+$"

Quantity = Annotated[str, Field(pattern=QUANTITY)]
Image = Annotated[str, Field(pattern=IMAGE)]
DnsLabel = Annotated[str, Field(pattern=DNS_LABEL, min_length=1, max_length=63)]
DnsName = Annotated[str, Field(pattern=DNS_SUBDOMAIN, min_length=1, max_length=253)]
Labels = dict[str, str]


TextT = TypeVar("TextT", bound=str)


def each_once(names: list[TextT]) -> list[TextT]:
    """The API server refuses a pod that lists one pull secret twice."""
    doubled = {one for one in names if names.count(one) > 1}
    if doubled:
        raise ValueError(f"{min(doubled)} is listed twice: remove one")
    return names


PullSecrets = Annotated[list[DnsName], AfterValidator(each_once)]
"""Names of Secrets with credentials for registries."""


class FieldError(ValueError):
    """A mistake that a check of a whole object found. `path` leads from the object to the field."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


class Authored(BaseModel):
    """Base of all kinds that people write: frozen, with strict types, and unknown fields are mistakes."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,  # a repository has few of the kinds, and their parts need no validator of their own
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Nothing changes an object. pydantic copies the default of a field for each object that has none."""
        return self


class Foreign(Authored):
    """Base of OCM's own kinds: only the fields that are read are checked."""

    model_config = ConfigDict(extra="ignore")


class Metadata(Authored):
    """The fields of Kubernetes object metadata that people write."""

    name: DnsName
    """Name of the object."""
    namespace: DnsLabel | None = None
    """Namespace; by default that of the kind."""
    labels: Labels = {}
    """Labels, also of the rendered object."""
    annotations: Labels = {}
    """Annotations, also of the rendered object."""


class Requirement(Authored):
    """One term of a label selector."""

    key: str
    """Label key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared."""
    values: list[str] = []
    """Values for In and NotIn; none for Exists and DoesNotExist."""


class LabelSelector(Authored):
    """A Kubernetes label selector: every term must hold; an empty selector matches everything."""

    match_labels: Labels = {}
    """Labels that must be there with exactly these values."""
    match_expressions: list[Requirement] = []
    """Further terms."""

    @property
    def compiled(self) -> Selector:
        """The compiled selector. What Kubernetes would reject is reported by separate rules."""
        terms = self.match_expressions
        compiled = (HubRequirement(each.key, each.operator, tuple(each.values)) for each in terms)
        return Selector.of(self.match_labels, compiled)

    def matches(self, labels: Labels) -> bool:
        return self.compiled.matches(labels)


class PodToleration(Authored):
    """A taint of nodes that a pod tolerates."""

    key: str = ""
    """Taint key; with operator Exists it may be left out to tolerate every taint."""
    operator: Literal["Equal", "Exists"] = "Equal"
    """How the value is compared."""
    value: str = ""
    """Taint value for Equal."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """Taint effect; every effect when absent."""
    toleration_seconds: int | None = None
    """Seconds after which the pod is evicted, with the effect NoExecute."""

    @model_validator(mode="after")
    def _as_kubernetes_takes_it(self) -> Self:
        if not self.key and self.operator != "Exists":
            msg = "a toleration without a key: write the key of the taint, or operator: Exists for all taints"
            raise ValueError(msg)
        if self.operator == "Exists" and self.value:
            raise FieldError(
                "Exists does not compare values: remove value, or write operator: Equal", "value"
            )
        if self.key and label_key_error(self.key) is not None:
            raise FieldError(f"{self.key} is not a label key", "key")
        if label_value_error(self.value) is not None:
            raise FieldError(f"{self.value} is not a label value", "value")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            msg = "tolerationSeconds needs effect: NoExecute, the only one that evicts"
            raise FieldError(msg, "tolerationSeconds")
        return self


Schema = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule between fields of one object. `cel` is empty without a CRD, `json` where it cannot compare."""

    message: str
    """What schemas say of it."""
    says: str = ""
    """What `validate` says of an object, formatted with that; the message when empty."""
    holds: Callable[[Any], bool] | None = None
    """Whether an object keeps the rule; None where a validator of the model says more."""
    path: tuple[str, ...] = ()
    """Leads from the object to the field that is wrong."""
    cel: str = ""
    json: Mapping[str, Any] = field(default_factory=dict)


class Ruled(Authored):
    """An object with rules."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _keeps_its_rules(self) -> Self:
        for rule in self.rules:
            if rule.holds is not None and not rule.holds(self):
                raise FieldError(rule.says.format(self) or rule.message, *rule.path)
        return self


def rules_of(model: str) -> tuple[Rule, ...]:
    pending = [Ruled]
    while pending:
        ruled = pending.pop()
        if ruled.__name__ == model:
            return ruled.rules
        pending += ruled.__subclasses__()
    return ()


def exactly_one(first: str, second: str, message: str) -> Rule:
    one, other = to_camel(first), to_camel(second)
    return Rule(
        message=message,
        holds=lambda item: (getattr(item, first) is None) != (getattr(item, second) is None),
        cel=f"has(self.{one}) != has(self.{other})",
        json={"oneOf": [given(one), given(other)]},
    )


def having(name: str, schema: Schema) -> Schema:
    """JSON Schema for "this field is present and like that"."""
    return {"required": [name], "properties": {name: schema}}


def given(name: str) -> Schema:
    """JSON Schema for "this field is present and not null"."""
    return having(name, {"not": {"type": "null"}})


def not_empty_list(name: str) -> Schema:
    """JSON Schema for "this field is a list with items"."""
    return having(name, {"type": "array", "minItems": 1})
