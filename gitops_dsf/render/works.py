"""The objects of each cluster: its ManifestWork, its ManagedClusterAddOn and its permissions.

The ManifestWork has the scoring configuration, and the add-on installs the agent.

A configuration is rendered once. The files of its clusters differ only in a small head and share
the rest.
"""

from collections.abc import Iterable, Iterator

import msgspec

from dsf_wire.constants import AGENT_NAMESPACE
from dsf_wire.measures import METRICS_API, SOURCE_TYPE, select
from dsf_wire.summary import Summary, encode_one
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

_PLACEHOLDER = "@summaries@"
_NAMESPACE = "@cluster@"


def works_directory(shard: int) -> str:
    """The directory of the works of one shard."""
    return f"{WORKS}{shard:02d}"


class WorkRenderer:
    """Renders the ManifestWorks of one fleet. Reuses the bytes of scorers and configurations."""

    def __init__(self) -> None:
        self._scorers: dict[int, bytes] = {}
        self._bodies: dict[int, tuple[tuple[bytes, ...], int]] = {}
        shell = emit({key: value for key, value in _work([]).items() if key != "spec"})
        self._head, self._head_end = _split(shell, f'"{_NAMESPACE}"')
        self._indent = b" " * 10

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
        found = self._bodies.get(id(configuration))
        if found is None:
            body = tuple(self._body(configuration))
            found = self._bodies[id(configuration)] = body, sum(map(len, body))
        return found

    def _body(self, configuration: Configuration) -> Iterator[bytes]:
        text = emit({"spec": _work(_manifests(configuration, _PLACEHOLDER))["spec"]})
        before, after = _split(text, f'"{_PLACEHOLDER}"')
        yield before
        if not configuration.summaries:
            yield b'"[]"'
        else:
            first, *others = map(self._scorer, configuration.summaries)
            yield b"|-\n" + self._indent + b"[" + first.removeprefix(b",")
            yield from others
            yield b"\n" + self._indent + b"]"
        yield after

    def _scorer(self, summary: Summary) -> bytes:
        """A scorer in the list, with the comma and the line break before it."""
        text = self._scorers.get(id(summary))
        if text is None:
            pad = self._indent + b"  "
            lines = printable_json(encode_one(summary)).encode().split(b"\n")
            text = self._scorers[id(summary)] = b",\n" + b"\n".join(pad + line for line in lines)
        return text


def payload_bytes(configuration: Configuration) -> int:
    """The size of a work as OCM's webhook computes it.

    See docs/contributing/behaviour.md#manifestwork-size.

    See docs/contributing/behaviour.md#manifestwork-size.

    Rounded up: the webhook adds at most four bytes per manifest.
    """
    manifests = _manifests(
        configuration,
        "[\n" + ",\n".join(encode_one(item) for item in configuration.summaries) + "\n]",
    )
    return sum(len(msgspec.json.encode(item)) + 4 for item in manifests)


class ClusterObjects:
    """The small objects of a cluster. They are rendered once, and its name is filled in."""

    def __init__(self, repository: FleetRepository) -> None:
        self._repository = repository
        self._texts: dict[AddOnParts, dict[str, str]] = {}

    def files(self, cluster: str, parts: AddOnParts) -> Iterator[tuple[str, bytes]]:
        """The files of one cluster, as pairs of kind and text."""
        texts = self._texts.get(parts)
        if texts is None:
            template = template_of(parts, self._repository)
            config = {"group": "addon.open-cluster-management.io", "resource": "addontemplates"}
            configs = [{**config, "name": template}] if template is not None else None
            items = filled("cluster.yaml", cluster=_NAMESPACE, configs=configs)
            texts = self._texts[parts] = dict(zip(CLUSTER_KINDS, map(emit, items), strict=True))
        for kind, text in texts.items():
            yield (
                kind,
                text.replace(f'"{_NAMESPACE}"', scalar(cluster))
                .replace(_NAMESPACE, cluster)
                .encode(),
            )


def _split(text: str, mark: str) -> tuple[bytes, bytes]:
    before, _, after = text.partition(mark)
    return before.encode(), after.encode()


def _work(manifests: list[Object]) -> Object:
    [found] = filled("work.yaml", cluster=_NAMESPACE, manifests=manifests)
    return found


def _manifests(configuration: Configuration, summaries: str) -> list[Object]:
    named = (("secrets", configuration.secrets), ("configmaps", configuration.config_maps))
    rules = [rule("", resource, verbs=("get",), names=names) for resource, names in named if names]
    receiving = configuration.receiver
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}},
        *filled("agent-configuration.yaml", summaries=summaries, rules=rules),
        *_measure_rights(configuration.summaries),
        *(
            [
                egress_policy(
                    configuration.summaries, configuration.egress, proxies=configuration.proxies
                )
            ]
            if configuration.egress is not None
            else []
        ),
        *([receiver.configuration(receiving)] if receiving is not None else []),
    ]


def _measure_rights(summaries: Iterable[Summary]) -> list[Object]:
    """For scorers that count nodes and pods. Only scorers of usage bring the right to read it."""
    queries = [summary.source_query for summary in summaries if summary.source_type == SOURCE_TYPE]
    if not queries:
        return []
    needed = any(selection.measure.needs_usage for query in queries for selection in select(query))
    usage = rule(METRICS_API, "nodes", verbs=("get", "list")) if needed else None
    return filled("agent-measures.yaml", usage=usage)
