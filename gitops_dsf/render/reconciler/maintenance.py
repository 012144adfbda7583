"""The ConfigMap with the maintenance of the fleet repository."""

from collections.abc import Iterable

import msgspec

from dsf_wire.text import printable_json
from gitops_dsf.hub.names import MAINTENANCE_CONFIGMAP, MAINTENANCE_KEY
from gitops_dsf.render.objects import Object, Wave, metadata
from gitops_dsf.repository.model.maintenance import Maintenance
from gitops_dsf.repository.model.repository import FleetRepository
from gitops_dsf.resolve.maintenance import for_the_hub


def maintenance(written: Iterable[Maintenance], repository: FleetRepository) -> Object:
    """Also without any maintenance: that the object is missing must not end a drain. Selectors stay, and the
    reconciler asks the labels of the hub, so a cluster that joins is drained with the others.
    """
    authored = [for_the_hub(item) for item in written]
    text = msgspec.json.format(msgspec.json.encode(authored), indent=2).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(
            name=MAINTENANCE_CONFIGMAP, namespace=repository.spec.hub_namespace, wave=Wave.ADDON
        ),
        "data": {MAINTENANCE_KEY: printable_json(text)},
    }
