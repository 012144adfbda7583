"""Remote write: the way of raw scores from managed clusters to a central store."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from gitops_dsf.repository.model.base import Authored, FieldError, LabelSelector
from gitops_dsf.repository.model.pods import Image, Memory, Quantity
from gitops_dsf.repository.model.reconciler import HttpUrl
from gitops_dsf.repository.model.scorer import Auth

HEADER_NAME: Final = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
_SET_BY_PROMETHEUS: Final = (
    "authorization",
    "host",
    "user-agent",
    "content-encoding",
    "content-type",
    "content-length",
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "www-authenticate",
    "accept-encoding",
    "x-prometheus-remote-write-version",
    "x-prometheus-remote-read-version",
)
"""Prometheus refuses a configuration with one of them (v3.16.0, config/config.go and
prometheus/common, config/headers.go).
"""


class RemoteWrite(Authored):
    """Prometheus in agent mode on managed clusters.

    It sends the metric dynamic_score to a central store by remote write.
    """

    url: HttpUrl
    """URL that receives remote write, such as https://prometheus.hub.example.com/api/v1/write."""
    image: Image
    """Image of Prometheus 3.12 or newer, preferably pinned by digest."""
    cluster_selector: LabelSelector | None = None
    """Clusters that send, by labels of the inventory; all when absent."""
    auth: Auth | None = None
    """How it authenticates, and which CA it trusts: tokenSecretRef, clientCertificateSecretRef and
    caConfigMapRef. The Secrets and the ConfigMap are in the namespace dynamic-scoring of each
    cluster.
    """
    headers: dict[
        Annotated[str, Field(pattern=HEADER_NAME, max_length=256)],
        Annotated[str, Field(max_length=4096)],
    ] = {}
    """Headers of every request, such as X-Scope-OrgID. Everybody who can read the repository can
    read them.
    """
    interval: Annotated[str, Field(pattern=r"^[1-9][0-9]*(s|m)$")] = "30s"
    """Time between two looks at the scores."""
    cpu: Quantity = "20m"
    """CPU that the scheduler reserves."""
    memory: Memory = "128Mi"
    """Request and limit."""
    # 65534 is the user `nobody` of Prometheus' image, by number.
    run_as_user: Annotated[int, Field(ge=1)] | None = 65534
    """User of the container. Write null on OpenShift, which assigns a user."""

    @model_validator(mode="after")
    def _can_send(self) -> Self:
        # The receiver is outside the cluster, where a token of the cluster's API server is
        # worth nothing.
        if self.auth is not None and self.auth.service_account_token:
            msg = "remote write has no token of a pod: name a Secret with auth.tokenSecretRef"
            raise FieldError(msg, "auth")
        if self.auth is not None and self.auth.oauth2 is not None:
            msg = "remote write knows no oauth2: name a Secret with a token in auth.tokenSecretRef"
            raise FieldError(msg, "auth")
        for name in self.headers:
            if name.lower() in _SET_BY_PROMETHEUS:
                msg = f"Prometheus sets the header {name} itself: remove it, or write auth"
                raise FieldError(msg, "headers")
        return self
