"""Reads the CRD of DynamicScorer of a hub."""

from pathlib import Path

from gitops_dsf.hub.resources import DEFINITIONS
from gitops_dsf.hub.scorerdefinition import SCORER_CRD
from gitops_dsf.hub.unread import Unread
from gitops_dsf.hubreader.hub import HubClient, JsonObject


def find_scorer_definition(
    *, context: str, kubeconfig: Path | None = None
) -> JsonObject | Unread | None:
    """The CRD; None if the hub has none. Raises HubError when the hub does not answer."""
    with HubClient(context=context, kubeconfig=kubeconfig) as hub:
        return hub.find(DEFINITIONS, SCORER_CRD)
