"""Prometheus in agent mode on managed clusters, which sends raw scores to a central store.

It is a pod of its own, so that the agent does not depend on the store, and the Secret of the store
is in no container of the agent.
"""

from typing import Final

from dsf_wire.constants import ADDON_NAME, AGENT_NAMESPACE
from gitops_dsf.canonicalyaml import emit
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.objects import (
    Object,
    config_map,
    filled,
    pod_values,
    prometheus_log_format,
)
from gitops_dsf.repository.model.agent import Agent
from gitops_dsf.repository.model.remote_write import RemoteWrite

NAME: Final = "gitops-dsf-remote-write"
"""The name of the StatefulSet, and of the ConfigMap."""
CONFIG_FILE: Final = "prometheus.yml"
TARGET: Final = f"{ADDON_NAME}.{AGENT_NAMESPACE}.svc:8080"
"""The Service of the agent's metrics."""
_FOLDER: Final = "/etc/gitops-dsf-remote-write-credentials"


def manifests(settings: RemoteWrite, agent: Agent) -> list[Object]:
    """The manifests that the add-on brings to a cluster that sends its raw scores."""
    sources = _credentials(settings)
    mount: Object | None = None
    volume: Object | None = None
    if sources:
        mount = {"name": "credentials", "mountPath": _FOLDER, "readOnly": True}
        volume = {"name": "credentials", "projected": {"sources": sources}}
    rendered = [config_map(NAME, {CONFIG_FILE: _file(settings, agent)}, namespace=AGENT_NAMESPACE)]
    rendered += filled(
        "remote-write.yaml",
        **pod_values(agent, image=settings.image),
        log_format=prometheus_log_format(agent),
        environment=_environment(agent),
        cpu=settings.cpu,
        memory=settings.memory,
        user=settings.run_as_user,
        credentials_mount=mount,
        credentials_volume=volume,
    )
    if agent.egress.mode == "Limited":
        called = [settings.url, f"http://{TARGET}"]
        if agent.proxy is not None:
            called += agent.proxy.urls
        rendered.append(egress_policy((), agent.egress, proxies=called, app=NAME))
    return rendered


def _file(settings: RemoteWrite, agent: Agent) -> str:
    authorization: Object | None = None
    tls: Object = {}
    auth = settings.auth
    if auth is not None and auth.token_secret_ref is not None:
        authorization = {"credentials_file": f"{_FOLDER}/token"}
    if auth is not None and auth.ca_config_map_ref is not None:
        tls["ca_file"] = f"{_FOLDER}/ca.crt"
    if auth is not None and auth.client_certificate_secret_ref is not None:
        tls |= {"cert_file": f"{_FOLDER}/tls.crt", "key_file": f"{_FOLDER}/tls.key"}
    [file] = filled(
        "remote-write-config.yaml",
        interval=settings.interval,
        target=TARGET,
        url=settings.url,
        headers=settings.headers or None,
        authorization=authorization,
        tls=tls or None,
        # Without it Prometheus ignores the variables of its environment.
        proxied=True if agent.proxy is not None else None,
    )
    return emit(file)


def _credentials(settings: RemoteWrite) -> list[Object]:
    """Sources of the volume with what authenticates.

    The kubelet brings a new token within two minutes, and Prometheus reads it for each request.
    """
    auth = settings.auth
    sources: list[Object] = []
    if auth is None:
        return sources
    token = auth.token_secret_ref
    if token is not None:
        items = [{"key": token.key, "path": "token"}]
        sources.append({"secret": {"name": token.name, "items": items}})
    authority = auth.ca_config_map_ref
    if authority is not None:
        items = [{"key": authority.key, "path": "ca.crt"}]
        sources.append({"configMap": {"name": authority.name, "items": items}})
    certificate = auth.client_certificate_secret_ref
    if certificate is not None:
        items = [
            {"key": certificate.certificate_key, "path": "tls.crt"},
            {"key": certificate.private_key_key, "path": "tls.key"},
        ]
        sources.append({"secret": {"name": certificate.name, "items": items}})
    return sources


def _environment(agent: Agent) -> list[Object] | None:
    """The proxy. OCM sets these variables in Deployments and DaemonSets only."""
    if agent.proxy is None:
        return None
    values = agent.proxy.environment
    return [{"name": name, "value": value} for name, value in sorted(values.items())]
