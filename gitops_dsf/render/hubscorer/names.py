"""Names that the hub scorer's objects share."""

from typing import Final

from gitops_dsf.hub.names import HUB_SCORER

NAME: Final = HUB_SCORER
LABELS: Final = {"app.kubernetes.io/name": NAME}
