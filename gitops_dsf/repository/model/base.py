"""Common parts of all authored kinds: strict fields, names, metadata and label selectors."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gitops_dsf.hub.selectors import Requirement as HubRequirement
from gitops_dsf.hub.selectors import Selector

PRODUCT_API: Final = "gitops-dsf.io/v1alpha1"
DSF_API: Final = "dynamic-scoring.open-cluster-management.io/v1alpha1"
OLDER_DSF_API: Final = "dynamic-scoring.open-cluster-management.io/v1"
"""The apiVersion of early releases of the upstream add-on. Its fields are the same."""

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
SECRET_KEY = r"^[-._a-zA-Z0-9]+$"  # noqa: S105 - the alphabet of keys, not a key

# A part of what `git check-ref-format` accepts. A name cannot begin with a dash, which commands of
# git take for an option.
BRANCH = r"^[a-zA-Z0-9_]([-_+#@=a-zA-Z0-9]|[./][-_+#@=a-zA-Z0-9])*$"
HOST_GLOB = r"^[^\s/:]+$"
MOMENT: Final = r"^2[0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$"

DnsLabel = Annotated[str, Field(pattern=DNS_LABEL, min_length=1, max_length=63)]
DnsName = Annotated[str, Field(pattern=DNS_SUBDOMAIN, min_length=1, max_length=253)]
Labels = dict[str, str]


def _a_moment(text: str) -> str:
    try:
        datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text} is not a valid time: {error}") from error
    return text


Moment = Annotated[str, Field(pattern=MOMENT), AfterValidator(_a_moment)]
"""A moment of RFC 3339, as people write it: `2026-11-24T20:00:00+01:00`."""


class FieldError(ValueError):
    """A mistake that a check of a whole object found. `path` leads from the object to the field."""

    def __init__(self, message: str, *path: str) -> None:
        super().__init__(message)
        self.path = path


class Authored(BaseModel):
    """Base of all kinds that people write: frozen, strictly typed, without unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        # A repository has few of the kinds, and their parts need no validator of their own.
        defer_build=True,
    )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Returns the object itself, because nothing changes it.

        pydantic copies the default of a field for each object that has none.
        """
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
        requirements: list[HubRequirement] = []
        for term in self.match_expressions:
            requirements.append(HubRequirement(term.key, term.operator, tuple(term.values)))
        return Selector.of(self.match_labels, requirements)

    def matches(self, labels: Labels) -> bool:
        return self.compiled.matches(labels)
