"""Labels and annotations of an object that steer what Argo CD does with it.

They decide whether and when it is applied, replaced or deleted, whose it is, and which differences
and states count.

`api.json` lists every key that the pinned Argo CD knows. A test says of each whether it steers, so
that a new version cannot bring one that was not looked at.
"""

from typing import Final

_STEERING: Final = (
    "argocd.argoproj.io/",
    # The GitOps engine takes hooks of Helm charts for its own, in files that no chart has made, too
    # (docs/contributing/behaviour.md#annotations-that-steer).
    "helm.sh/hook",
    "helm.sh/resource-policy",
)
"""Prefixes of these keys. Argo CD has more of its own with every version."""


def steers(key: str) -> bool:
    """Whether Argo CD obeys a label or annotation with this key.

    It reads most of them as annotations only, and as they are spelt. The others have no use.
    """
    return key.lower().startswith(_STEERING)
