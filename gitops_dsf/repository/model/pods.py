"""Fields of the pods that gitops-dsf renders: images, quantities, pull secrets and tolerations."""

from typing import Annotated, Final, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from gitops_dsf.hub.selectors import label_key_error, label_value_error
from gitops_dsf.repository.model.base import Authored, DnsName, FieldError

QUANTITY: Final = r"^[0-9]+(\.[0-9]+)?(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
IMAGE: Final = r"^[a-zA-Z0-9]([^\s:]|:[^\s:/])*$"

Quantity = Annotated[str, Field(pattern=QUANTITY)]
Image = Annotated[str, Field(pattern=IMAGE)]
Memory = Annotated[str, Field(pattern=r"^[1-9][0-9]{0,6}(Mi|Gi)$")]
"""A quantity of memory that `mebibytes` reads."""

TextT = TypeVar("TextT", bound=str)


def mebibytes(quantity: str) -> int:
    return int(quantity[:-2]) * (1024 if quantity.endswith("Gi") else 1)


def each_once(names: list[TextT]) -> list[TextT]:
    """The names, if each is listed once. Raises ValueError.

    The API server refuses a pod that lists one pull secret twice.
    """
    doubled = {name for name in names if names.count(name) > 1}
    if doubled:
        raise ValueError(f"{min(doubled)} is listed twice: remove one")
    return names


PullSecrets = Annotated[list[DnsName], AfterValidator(each_once)]
"""Names of Secrets with credentials for registries."""


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

    # The API server refuses such a pod only when Argo CD applies it, or on each cluster when OCM
    # installs the add-on.
    @model_validator(mode="after")
    def _as_kubernetes_takes_it(self) -> Self:
        if not self.key and self.operator != "Exists":
            msg = (
                "a toleration without a key: write the key of the taint, or operator: Exists for"
                " all taints"
            )
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
