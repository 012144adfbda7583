"""Which labels and annotations of an object steer what Argo CD does with it.

They decide whether and when it is applied, replaced or deleted, whose it is, and what counts as a
difference or as healthy.

`api.json` lists every key that the pinned Argo CD knows. A test says of each whether it steers, so
that a new version cannot bring one that nobody looked at.
"""

from typing import Final

_STEERING: Final = (
    "argocd.argoproj.io/",
    # The GitOps engine takes hooks of Helm charts for its own, in files that no chart has made, too
    # (docs/contributing/behaviour.md#annotations-that-steer).
    "helm.sh/hook",
    "helm.sh/resource-policy",
)
"""How these keys begin. Argo CD has more of its own with every version."""


def steers(key: str) -> bool:
    """Whether Argo CD obeys a label or annotation with this key.

    It reads most of them as annotations only, and as they are spelt. Nobody has a use for the
    others.
    """
    return key.lower().startswith(_STEERING)
