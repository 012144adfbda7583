"""What the labels of a result determine: the name of its item, its line on /metrics, and on the hub its
cluster. Scoring APIs repeat them, so each label set is worked out once and found again by its JSON.
"""

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import Final

import msgspec

from dsf_agent.metrics import SamplePrefix
from dsf_wire import dimension

MAX_KEPT: Final = 20_000
"""Label sets that are kept for one scorer, about 600 bytes each. Others are worked out in every cycle."""
MAX_NAME: Final = 1024
"""Longest name of an item, in characters. Names of Kubernetes objects have 253 at most."""
LONG_NAME: Final = "\0" * (MAX_NAME + 1)
"""In place of a longer name. No name that is kept has its length."""
MAX_KEPT_BYTES: Final = 1024
"""A label set with longer JSON is not kept."""


class Labels(msgspec.Struct, gc=False):
    """The labels that the agent uses, in the order of dsf_wire.dimension.LABELS. Others are skipped."""

    node: str = ""
    device: str = ""
    namespace: str = ""
    app: str = ""
    pod: str = ""
    container: str = ""
    meta: str = ""


class LabelSet(msgspec.Struct, frozen=True, gc=False):
    """``item`` is empty if the dimension format gives an empty name, and LONG_NAME instead of a long one.
    ``line`` ends where the value begins. ``size`` is the memory of both texts. ``cluster`` is of the hub
    scorer only.
    """

    item: str
    line: bytes
    size: int
    cluster: str = ""


class LabelSets:
    """The label sets of one scorer on one cluster."""

    struct: type[msgspec.Struct] = Labels
    """The labels of one result. Its fields are the argument of ``of``."""
    most_results = 50_000
    """Most results of one answer. An AddOnPlacementScore stores about 16,000 items, /metrics has more."""

    def __init__(self, *, template: str, cluster: str, score_name: str) -> None:
        self._item_name = item_namer(template=template, cluster=cluster, score_name=score_name)
        self._prefix = SamplePrefix(cluster=cluster, score_name=score_name)
        self._decoder = msgspec.json.Decoder(list[self.struct])  # type: ignore[name-defined]
        self._before: dict[bytes, LabelSet] = {}
        self._now: dict[bytes, LabelSet] = {}
        self.kept_bytes = 0
        """Bytes of the JSON of the label sets of this answer that are kept."""

    @contextmanager
    def answer(self) -> Iterator[None]:
        """Reads an answer in the block. Those of the last answer are found again; after a failure none is."""
        self._before, self._now, self.kept_bytes = self._now, {}, 0
        try:
            yield
        except BaseException:
            self.forget()
            raise
        self._before = {}

    def forget(self) -> None:
        """Works out every label set again."""
        self._before, self._now, self.kept_bytes = {}, {}, 0

    def read(self, metrics: Sequence[bytes]) -> list[LabelSet]:
        """The label sets of these JSON objects. Raises msgspec.DecodeError or UnicodeDecodeError."""
        known = list(map(self._before.get, metrics))
        found = self._completed(metrics, known)
        if len(self._now) < MAX_KEPT:
            kept = {
                key: one
                for key, one in zip(metrics, found, strict=True)
                if len(key) <= MAX_KEPT_BYTES
            }
            self._now |= kept
            self.kept_bytes += sum(map(len, kept))
        return found

    def _completed(
        self, metrics: Sequence[bytes], known: Sequence[LabelSet | None]
    ) -> list[LabelSet]:
        """``known`` with the missing label sets filled in."""
        present = [label_set for label_set in known if label_set is not None]
        if len(present) == len(known):
            return present
        new = [
            metric for metric, label_set in zip(metrics, known, strict=True) if label_set is None
        ]
        made = map(
            self.of, map(msgspec.structs.astuple, self._decoder.decode(b"[%b]" % b",".join(new)))
        )
        return [next(made) if label_set is None else label_set for label_set in known]

    def of(self, labels: tuple[str, ...]) -> LabelSet:
        """The label set of these labels, in the order of dsf_wire.dimension.LABELS."""
        return label_set(self._item_name(labels), self._prefix.of(labels))


def label_set(name: str, line: bytes, *, cluster: str = "") -> LabelSet:
    """The label set of an item with this name."""
    item = name if len(name) <= MAX_NAME else LONG_NAME
    return LabelSet(item=item, line=line, size=sys.getsizeof(item) + len(line), cluster=cluster)


def item_namer(*, template: str, cluster: str, score_name: str) -> Callable[[tuple[str, ...]], str]:
    """A function from labels, in the order of dsf_wire.dimension.LABELS, to the item name: the same as
    dsf_wire.dimension.fill, and three times as fast over 50,000 results, because the template is parsed once.
    """
    pattern, indexes, known = "", list[int](), {"cluster": cluster, "scoreName": score_name}
    for number, part in enumerate(
        dimension.PLACEHOLDER.split(template or dimension.DEFAULT_FORMAT)
    ):
        is_name = number % 2 == 1
        if is_name and part in dimension.LABELS:
            pattern += "%s"
            indexes.append(dimension.LABELS.index(part))
        else:
            text = known.get(part, f"${{{part}}}") if is_name else part
            pattern += text.replace("%", "%%")
    if pattern == "%s":
        return operator.itemgetter(indexes[0])
    if not indexes:
        return lambda _labels: pattern % ()
    pick = operator.itemgetter(*indexes)
    return lambda labels: pattern % pick(labels)


OTHER_CLUSTER: Final = LabelSet(item="", line=b"", size=0)
"""A result about a cluster that this scorer does not score. A central store often knows more clusters."""
NO_CLUSTER: Final = LabelSet(item="", line=b"", size=0, cluster="\0")
"""A result without the label. No cluster has this name."""
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_FIELD: Final = "the_cluster"


class ClusterLabelSets(LabelSets):
    """The label sets of one scorer on all its clusters."""

    most_results = 200_000

    def __init__(self, *, template: str, score_name: str, label: str) -> None:
        self.struct = _struct(label)
        super().__init__(template=template, cluster="", score_name=score_name)
        self._template = template
        self._score_name = score_name
        self._place = (*dimension.LABELS, label).index(label)
        self._clusters = _NONE
        self._only = ""

    def use(self, clusters: Mapping[str, str], *, only: str = "") -> None:
        """Sets the clusters by value. ``only``: the cluster of results without the label."""
        if clusters is not self._clusters or only != self._only:
            self._clusters, self._only = clusters, only
            self.forget()

    def of(self, labels: tuple[str, ...]) -> LabelSet:
        value = labels[self._place]
        cluster = self._clusters.get(value, "") if value else self._only
        if not cluster:
            return OTHER_CLUSTER if value else NO_CLUSTER
        labels = labels[: len(dimension.LABELS)]
        name_of = item_namer(template=self._template, cluster=cluster, score_name=self._score_name)
        prefix = SamplePrefix(cluster=cluster, score_name=self._score_name)
        return label_set(name_of(labels), prefix.of(labels), cluster=cluster)


@cache
def _struct(label: str) -> type[msgspec.Struct]:
    """Labels with the cluster's label, which may be one of them."""
    fields = [(name, str, "") for name in dimension.LABELS]
    if label in dimension.LABELS:
        return msgspec.defstruct("ClusterLabels", fields, gc=False)
    return msgspec.defstruct(
        "ClusterLabels", [*fields, (_FIELD, str, "")], gc=False, rename={_FIELD: label}
    )
