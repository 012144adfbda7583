"""The list of scorers that is rendered for the reconciler, in ConfigMaps of the hub namespace.

The parts hold the scorers, and an index names each scorer with a digest. Argo CD applies one
ConfigMap after another, so a reader may find parts of two lists; by the digests it distinguishes a
whole list from a half one. DynamicScorers are no such source: where another program owns their CRD,
the API server drops the fields that it does not know, and refuses scorers without a scoring API.

Guaranteed: `read_scorers` returns all scorers of one render, or raises ListError. Not guaranteed:
that the list is the newest; a reader may see an older one for as long as Argo CD needs.
"""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from dsf_wire.constants import GENERATOR_MANAGER, MANAGED_BY_LABEL
from gitops_dsf.hub.delivery import OUR_CRDS, OUR_DELIVERY
from gitops_dsf.hub.metadata import Metadata, problem_of
from gitops_dsf.hub.objects import KubernetesObject
from gitops_dsf.hub.scorers import DynamicScorer, ScorerSpec
from gitops_dsf.wording import and_text, names_text

FORMAT: Final = 1
"""The format of the index. A reader refuses another one, because it cannot know what changed."""
INDEX_CONFIGMAP: Final = "gitops-dsf-scorers"
INDEX_KEY: Final = "index"
MAX_PARTS: Final = 8
"""A fixed number, because the reconciler's rights name each ConfigMap that it may read."""
PART_CONFIGMAPS: Final = tuple(f"{INDEX_CONFIGMAP}-{number}" for number in range(MAX_PARTS))


class ListError(ValueError):
    """The list cannot be used. The message is the reason."""


class ListConfigMap(KubernetesObject, frozen=True):
    """A ConfigMap of the list."""

    data: dict[str, str] = {}


class _Format(Struct, frozen=True):
    format: int


class ListIndex(Struct, frozen=True, omit_defaults=True):
    """The index of the list: its parts, and a digest of each scorer."""

    format: int
    parts: Annotated[int, Meta(ge=0, le=MAX_PARTS)]
    """The number of parts, from the first one on. A part without scorers is not rendered."""
    # A digest of each scorer, and none of a part: so two pull requests that change two scorers
    # change two lines of the index, and what git merges is right.
    scorers: dict[str, str]
    """The digest of each scorer."""
    crds: str = OUR_CRDS
    """The value of delivery.crds: whether the CRDs of the hub are ours."""
    mode: str = OUR_DELIVERY
    """The value of delivery.mode: whether our agents publish the scores."""

    @property
    def names(self) -> tuple[str, ...]:
        """The ConfigMaps of the parts."""
        return PART_CONFIGMAPS[: self.parts]


def digest_of(text: str) -> str:
    """The digest of what a part says of a scorer."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_index(config_map: ListConfigMap | None) -> ListIndex:
    """The index in its ConfigMap; None means that there is none. Raises ListError."""
    if config_map is None:
        raise ListError(
            f"ConfigMap {INDEX_CONFIGMAP} is missing: Argo CD has not applied rendered/platform"
            " yet, or somebody deleted it"
        )
    _check_owner(config_map)
    text = config_map.data.get(INDEX_KEY)
    if text is None:
        raise ListError(f"ConfigMap {INDEX_CONFIGMAP} has no key {INDEX_KEY}")
    try:
        # The format comes first: of another one the rest may have any shape.
        written_format = msgspec.json.decode(text, type=_Format).format
        if written_format != FORMAT:
            raise ListError(
                f"ConfigMap {INDEX_CONFIGMAP} has format {written_format}, and this version reads"
                f" {FORMAT}: run the same version of gitops-dsf in CI and on the hub"
            )
        index = msgspec.json.decode(text, type=ListIndex)
    except msgspec.DecodeError as error:
        raise ListError(
            f"ConfigMap {INDEX_CONFIGMAP}, key {INDEX_KEY}: {problem_of(error)}"
        ) from error
    return index


def read_scorers(
    index: ListIndex, parts: Mapping[str, ListConfigMap | None]
) -> dict[str, ScorerSpec]:
    """The scorers of a list by name. `parts` has those that are there. Raises ListError."""
    specs: dict[str, ScorerSpec] = {}
    for name in index.names:
        part = parts.get(name)
        # Its scorers are then missing, which is reported below with their names.
        if part is None:
            continue
        _check_owner(part)
        for scorer, text in part.data.items():
            if index.scorers.get(scorer) != digest_of(text) or scorer in specs:
                raise ListError(
                    f"scorer {scorer} of ConfigMap {name} is not the one that {INDEX_CONFIGMAP}"
                    " describes: Argo CD has applied only one of them yet, or somebody changed one"
                )
            specs[scorer] = _spec(name, scorer, text)
    missing = sorted(index.scorers.keys() - specs.keys())
    if missing:
        raise ListError(
            f"{names_text(missing)} of ConfigMap {INDEX_CONFIGMAP} cannot be found in"
            f" {and_text(index.names)}: Argo CD has not applied all of them yet, or one was"
            " deleted or changed"
        )
    return specs


def listed_scorer(
    name: str,
    spec: ScorerSpec,
    live: DynamicScorer | None,
    *,
    namespace: str,
    status: Mapping[str, Any] | None = None,
) -> DynamicScorer:
    """A scorer of the list, with UID, generation and status of its object on the hub.

    Without an object it has no UID. `status` is what was kept apart from the object, whose fields
    it has, but for the last /config.
    """
    metadata = Metadata(name=name, namespace=namespace) if live is None else live.metadata
    merged = {} if live is None else live.status
    return DynamicScorer(metadata=metadata, spec=spec, status={**merged, **(status or {})})


def read_statuses(data: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """The statuses in the ConfigMap gitops-dsf-status, by scorer.

    One that cannot be read is left out: the reconciler writes it again.
    """
    statuses: dict[str, dict[str, Any]] = {}
    for name, text in data.items():
        with suppress(msgspec.DecodeError):
            statuses[name] = msgspec.json.decode(text, type=dict[str, Any])
    return statuses


def _spec(part: str, scorer: str, text: str) -> ScorerSpec:
    try:
        return msgspec.json.decode(text, type=ScorerSpec)
    except msgspec.DecodeError as error:
        raise ListError(f"ConfigMap {part}, key {scorer}: {problem_of(error)}") from error


def _check_owner(config_map: ListConfigMap) -> None:
    # This finds mistakes. It is not a protection: whoever may write ConfigMaps of the namespace can
    # write the label, too.
    if config_map.metadata.label(MANAGED_BY_LABEL) != GENERATOR_MANAGER:
        raise ListError(
            f"ConfigMap {config_map.metadata.name} was not rendered by gitops-dsf: it has no label"
            f" {MANAGED_BY_LABEL}={GENERATOR_MANAGER}"
        )
