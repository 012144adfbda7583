"""Metadata, owners and conditions, which every Kubernetes object has."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gitops_dsf.hub.times import Timestamp, seconds_of

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class OwnerReference(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """An owner, which garbage collection follows."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Metadata(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """Metadata of an object, without resourceVersion.

    So objects that differ in nothing else are equal, and a write that changed nothing is not an
    event.
    """

    name: Annotated[str, Meta(min_length=1)]
    namespace: str | None = None
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def created(self) -> float:
        """Seconds since 1970; 0 if it is not known."""
        return 0.0 if self.creation_timestamp is None else self.creation_timestamp.timestamp()

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted, and waits for its finalizers."""
        return self.deletion_timestamp is not None

    def label(self, key: str) -> str:
        """The value of a label; empty if it is absent."""
        return (self.labels or {}).get(key, "")

    def annotation(self, key: str) -> str:
        """The value of an annotation; empty if it is absent."""
        return (self.annotations or {}).get(key, "")

    def controller(self, kind: str) -> OwnerReference:
        """The owner of this kind that controls the object; an empty one if there is none."""
        # An object may have several owners, of which one at most controls it.
        for owner in self.owner_references or ():
            if owner.controller and owner.kind == kind:
                return owner
        return OwnerReference()


class ObjectCondition(Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """A condition as metav1.Condition has it."""

    type: str = ""
    status: str = ""
    """True, False or Unknown."""
    reason: str = ""
    message: str = ""
    last_transition_time: Any = None
    """Text or datetime. Agents write it, and the API server accepts text that is not a time."""
    observed_generation: int | None = None

    @property
    def since(self) -> float | None:
        """Seconds since 1970 of the last transition; None if it is absent or not a time."""
        # Decoded only here, so that a wrong time costs this answer and not the whole object.
        return seconds_of(self.last_transition_time)


NO_CONDITION: Final = ObjectCondition()
"""A condition that no controller has written yet."""


def condition_of(conditions: tuple[ObjectCondition, ...] | None, kind: str) -> ObjectCondition:
    """The condition of a type; NO_CONDITION if it is absent."""
    for condition in conditions or ():
        if condition.type == kind:
            return condition
    return NO_CONDITION


def problem_of(error: msgspec.DecodeError) -> str:
    """The error message, with the path of the field."""
    # msgspec writes the path as `$.spec.x`, and people write spec.x.
    return str(error).replace(" - at `$.", " at `").replace(" - at `$", " at `")
