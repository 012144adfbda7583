"""The Secret that OCM's registration agent writes for an add-on on a managed cluster. That agent runs nowhere
in this suite.
"""

import base64

import yaml

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from tests.hub.controlplane.api import Object
from tests.hub.controlplane.plane import ControlPlane, addon_identity

HUB_NAME = "hub-apiserver.example.com"
"""The hub's name for pods; a Service of their node leads from its port 443 to the API server."""


def secret(name: str, content: dict[str, bytes]) -> Object:
    """A Secret in the namespace of the agent."""
    data = {key: base64.b64encode(value).decode("ascii") for key, value in content.items()}
    metadata = {"name": name, "namespace": AGENT_NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": data}


def hub_kubeconfig(plane: ControlPlane, cluster: str) -> Object:
    """A kubeconfig with the names of the files beside it, and a new client certificate."""
    identity = addon_identity(cluster=cluster, addon=ADDON_NAME)
    pair = plane.hub.authority.client(identity.user, identity.groups)
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "hub",
                "cluster": {
                    "server": f"https://{HUB_NAME}:443",
                    "certificate-authority-data": plane.hub.authority.bundle,
                },
            }
        ],
        "users": [{"name": "agent", "user": {"client-certificate": "tls.crt", "client-key": "tls.key"}}],
        "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "agent", "namespace": cluster}}],
        "current-context": "hub",
    }
    return secret(
        f"{ADDON_NAME}-hub-kubeconfig",
        {
            "kubeconfig": yaml.safe_dump(kubeconfig).encode(),
            "tls.crt": pair.certificate,
            "tls.key": pair.key,
            "cluster-name": cluster.encode(),
            "agent-name": b"agent1",
        },
    )
