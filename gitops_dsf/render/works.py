"""The objects of each cluster: its ManifestWork, its ManagedClusterAddOn and its permissions.

The ManifestWork has the configuration of the cluster's agent; the add-on installs the agent. This
is the last step of a scorer's way to its clusters: `plan` gave each cluster a `Configuration` with
the summaries of its scorers.

    ScorerSummary  -> bytes of one scorer in the list, kept by the summary's identity
    Configuration  -> bytes of a ManifestWork's spec, kept by the configuration's identity
    ClusterWork    -> head with the cluster's name, and the spec of its configuration

So the files of all clusters with one configuration share its bytes, and differ in a small head.
"""

from collections.abc import Iterable, Iterator

import msgspec

from dsf_wire.constants import AGENT_NAMESPACE
from dsf_wire.measures import DEVICES_API, METRICS_API, SOURCE_TYPE, Measure, select
from dsf_wire.summary import ScorerSummary, encode_one
from dsf_wire.text import printable_json
from gitops_dsf.canonicalyaml import emit, scalar
from gitops_dsf.plan.configurations import Configuration
from gitops_dsf.plan.works import AddOnParts, ClusterWork
from gitops_dsf.render import receiver
from gitops_dsf.render.agent import template_of
from gitops_dsf.render.egress import egress_policy
from gitops_dsf.render.objects import Object, filled, rule
from gitops_dsf.repository.model.repository import FleetRepository

WORKS = "works-"
"""Prefix of works directories."""

CLUSTER_KINDS = ("managedclusteraddon", "rolebinding")
"""The objects of a cluster besides its ManifestWork."""

# Each is rendered in the place of what varies, and then replaced. An @ can be in no name, and makes
# `emit` quote the text.
_PLACEHOLDER = "@summaries@"
_NAMESPACE = "@cluster@"

# The summaries are a literal block in the ConfigMap of the work, ten columns deep.
_INDENT = b" " * 10


def works_directory(shard: int) -> str:
    """The directory of the works of one shard."""
    return f"{WORKS}{shard:02d}"


class WorkRenderer:
    """Renders the ManifestWorks of one fleet. Reuses the bytes of scorers and configurations."""

    def __init__(self) -> None:
        self._scorers: dict[int, bytes] = {}
        self._bodies: dict[int, tuple[tuple[bytes, ...], int]] = {}
        work = _work([])
        del work["spec"]
        self._head, self._head_end = _split(emit(work), f'"{_NAMESPACE}"')

    def parts(self, work: ClusterWork) -> tuple[bytes, ...]:
        """The file of one cluster's ManifestWork, as pieces to write one after another."""
        body, _ = self._shared(work.configuration)
        return (self._head, scalar(work.cluster).encode(), self._head_end, *body)

    def size(self, work: ClusterWork) -> int:
        """The size in bytes of one cluster's ManifestWork."""
        _, size = self._shared(work.configuration)
        return len(self._head) + len(scalar(work.cluster).encode()) + len(self._head_end) + size

    def _shared(self, configuration: Configuration) -> tuple[tuple[bytes, ...], int]:
        """The pieces of a configuration, and their size."""
        # The key is the identity, because summaries hold dicts and have no hash.
        shared = self._bodies.get(id(configuration))
        if shared is None:
            body = tuple(self._body(configuration))
            shared = body, sum(map(len, body))
            self._bodies[id(configuration)] = shared
        return shared

    def _body(self, configuration: Configuration) -> Iterator[bytes]:
        text = emit({"spec": _work(_manifests(configuration, _PLACEHOLDER))["spec"]})
        before, after = _split(text, f'"{_PLACEHOLDER}"')
        yield before
        if not configuration.summaries:
            yield b'"[]"'
        else:
            first, *others = map(self._scorer, configuration.summaries)
            yield b"|-\n" + _INDENT + b"[" + first.removeprefix(b",")
            yield from others
            yield b"\n" + _INDENT + b"]"
        yield after

    def _scorer(self, summary: ScorerSummary) -> bytes:
        """A scorer in the list, with the comma and the line break before it."""
        text = self._scorers.get(id(summary))
        if text is None:
            pad = _INDENT + b"  "
            lines = printable_json(encode_one(summary)).encode().split(b"\n")
            text = b",\n" + b"\n".join(pad + line for line in lines)
            self._scorers[id(summary)] = text
        return text


def payload_bytes(configuration: Configuration) -> int:
    """The size of a work as OCM's webhook computes it.

    Rounded up: the webhook adds at most four bytes per manifest
    (docs/contributing/behaviour.md#manifestwork-size).
    """
    encoded = ",\n".join(map(encode_one, configuration.summaries))
    total = 0
    for manifest in _manifests(configuration, f"[\n{encoded}\n]"):
        total += len(msgspec.json.encode(manifest)) + 4
    return total


class ClusterObjects:
    """The small objects of a cluster. They are rendered once, and its name is filled in."""

    def __init__(self, repository: FleetRepository) -> None:
        self._repository = repository
        self._texts: dict[AddOnParts, dict[str, str]] = {}

    def files(self, cluster: str, parts: AddOnParts) -> Iterator[tuple[str, bytes]]:
        """The files of one cluster, as pairs of kind and text."""
        texts = self._texts.get(parts)
        if texts is None:
            objects = filled(
                "cluster.yaml", cluster=_NAMESPACE, configs=_addon_configs(parts, self._repository)
            )
            texts = dict(zip(CLUSTER_KINDS, map(emit, objects), strict=True))
            self._texts[parts] = texts
        for kind, text in texts.items():
            # The name stands alone, where it may need quotes, and inside of longer names.
            named = text.replace(f'"{_NAMESPACE}"', scalar(cluster)).replace(_NAMESPACE, cluster)
            yield kind, named.encode()


def _addon_configs(parts: AddOnParts, repository: FleetRepository) -> list[Object] | None:
    """The AddOnTemplate that a ManagedClusterAddOn names; None for the default one."""
    template = template_of(parts, repository)
    if template is None:
        return None
    return [
        {
            "group": "addon.open-cluster-management.io",
            "resource": "addontemplates",
            "name": template,
        }
    ]


def _split(text: str, mark: str) -> tuple[bytes, bytes]:
    before, _, after = text.partition(mark)
    return before.encode(), after.encode()


def _work(manifests: list[Object]) -> Object:
    [work] = filled("work.yaml", cluster=_NAMESPACE, manifests=manifests)
    return work


def _manifests(configuration: Configuration, summaries: str) -> list[Object]:
    """The manifests that the work agent applies on the cluster."""
    rules = readers_of(configuration)
    manifests = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}}]
    manifests += filled("agent-configuration.yaml", summaries=summaries, rules=rules)
    manifests += _measure_rights(configuration.summaries)
    if configuration.egress is not None:
        policy = egress_policy(
            configuration.summaries, configuration.egress, proxies=configuration.proxies
        )
        manifests.append(policy)
    if configuration.receiver is not None:
        manifests.append(receiver.configuration(configuration.receiver))
    return manifests


def readers_of(configuration: Configuration) -> list[Object]:
    """Rules that let a process read its Secrets and ConfigMaps, and no others."""
    rules: list[Object] = []
    if configuration.secrets:
        rules.append(rule("", "secrets", verbs=("get",), names=configuration.secrets))
    if configuration.config_maps:
        rules.append(rule("", "configmaps", verbs=("get",), names=configuration.config_maps))
    return rules


def _measure_rights(summaries: Iterable[ScorerSummary]) -> list[Object]:
    """Rights for scorers that count nodes and pods.

    Only scorers of usage or devices bring the right to read those.
    """
    queries = [summary.source_query for summary in summaries if summary.source_type == SOURCE_TYPE]
    if not queries:
        return []
    measures: list[Measure] = []
    for query in queries:
        measures += [selection.measure for selection in select(query)]
    usage: Object | None = None
    if any(measure.needs_usage for measure in measures):
        usage = rule(METRICS_API, "nodes", verbs=("get", "list"))
    devices: list[Object] = []
    if any(measure.needs_devices for measure in measures):
        for resource in ("resourceslices", "resourceclaims"):
            devices.append(rule(DEVICES_API, resource, verbs=("get", "list", "watch")))
    return filled("agent-measures.yaml", usage=usage, devices=devices)
