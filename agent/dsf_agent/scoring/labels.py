"""Labels of a result, and the name of its item and its line on /metrics that follow from them.

Scoring APIs repeat labels in every answer, so each label set is worked out once and found again by
its JSON.
"""

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from dsf_agent.samples import SamplePrefix
from dsf_wire import dimension

MAX_KEPT: Final = 20_000
"""Label sets that are kept for one scorer, about 600 bytes each.

Others are worked out in every cycle.
"""
MAX_NAME: Final = 1024
"""Longest name of an item, in characters. Names of Kubernetes objects have 253 at most."""
LONG_NAME: Final = "\0" * (MAX_NAME + 1)
"""The text in place of a longer name. No name that is kept has its length."""
MAX_KEPT_BYTES: Final = 1024
"""A label set with longer JSON is not kept."""


class Labels(msgspec.Struct, gc=False):
    """The labels that the agent uses, in the order of dsf_wire.dimension.LABELS.

    Others are skipped.
    """

    node: str = ""
    device: str = ""
    namespace: str = ""
    app: str = ""
    pod: str = ""
    container: str = ""
    meta: str = ""


class LabelSet(msgspec.Struct, frozen=True, gc=False):
    """The values that follow from the labels of a result."""

    item: str
    """The item's name.

    It is empty if the dimension format gives nothing, and LONG_NAME for a longer one.
    """
    line: bytes
    """The line on /metrics up to the value."""
    size: int
    """Bytes of both texts in memory."""
    cluster: str = ""
    """The cluster, for the hub scorer only."""


class LabelSets:
    """The label sets of one scorer on one cluster."""

    struct: type[msgspec.Struct] = Labels
    """The labels of one result. Its fields are the argument of ``of``."""
    max_results = 50_000
    """Most results of one answer.

    An AddOnPlacementScore stores about 16,000 items, /metrics has more.
    """

    def __init__(self, *, template: str, cluster: str, score_name: str) -> None:
        self._item_name = item_namer(template=template, cluster=cluster, score_name=score_name)
        self._prefix = SamplePrefix(cluster=cluster, score_name=score_name)
        self._decoder = msgspec.json.Decoder(list[self.struct])  # type: ignore[name-defined]
        # Two generations: a label set that the last answer did not have is forgotten.
        self._before: dict[bytes, LabelSet] = {}
        self._now: dict[bytes, LabelSet] = {}
        self.kept_bytes = 0
        """Bytes of the JSON of the label sets of this answer that are kept."""

    @contextmanager
    def answer(self) -> Iterator[None]:
        """Reads an answer in the block.

        Those of the last answer are found again; after a failure none is.
        """
        self._before = self._now
        self._now = {}
        self.kept_bytes = 0
        try:
            yield
        except BaseException:
            self.forget()
            raise
        self._before = {}

    def forget(self) -> None:
        """Works out every label set again."""
        self._before = {}
        self._now = {}
        self.kept_bytes = 0

    def read(self, metrics: Sequence[bytes]) -> list[LabelSet]:
        """The label sets of these JSON objects.

        Raises msgspec.DecodeError or UnicodeDecodeError.
        """
        remembered = list(map(self._before.get, metrics))
        label_sets = self._completed(metrics, remembered)
        # Most series are the same in each cycle, so most label sets are found again.
        if len(self._now) < MAX_KEPT:
            kept = {
                key: label_set
                for key, label_set in zip(metrics, label_sets, strict=True)
                if len(key) <= MAX_KEPT_BYTES
            }
            self._now |= kept
            self.kept_bytes += sum(map(len, kept))
        return label_sets

    def _completed(
        self, metrics: Sequence[bytes], remembered: Sequence[LabelSet | None]
    ) -> list[LabelSet]:
        """``remembered`` with the missing label sets filled in."""
        present = [label_set for label_set in remembered if label_set is not None]
        if len(present) == len(remembered):
            return present
        new = [
            metric
            for metric, label_set in zip(metrics, remembered, strict=True)
            if label_set is None
        ]
        decoded = self._decoder.decode(b"[%b]" % b",".join(new))
        missing = map(self.of, map(msgspec.structs.astuple, decoded))
        return [next(missing) if label_set is None else label_set for label_set in remembered]

    def of(self, labels: tuple[str, ...]) -> LabelSet:
        """The label set of these labels, in the order of dsf_wire.dimension.LABELS."""
        return label_set(self._item_name(labels), self._prefix.of(labels))


def label_set(name: str, line: bytes, *, cluster: str = "") -> LabelSet:
    """The label set of an item with this name."""
    item_name = name if len(name) <= MAX_NAME else LONG_NAME
    size = sys.getsizeof(item_name) + len(line)
    return LabelSet(item=item_name, line=line, size=size, cluster=cluster)


def item_namer(*, template: str, cluster: str, score_name: str) -> Callable[[tuple[str, ...]], str]:
    """A function from labels, in the order of dsf_wire.dimension.LABELS, to the item name.

    It gives the same as dsf_wire.dimension.fill, and is three times as fast over 50,000 results,
    because the template is parsed once.
    """
    pattern = ""
    indexes: list[int] = []
    constants = {"cluster": cluster, "scoreName": score_name}
    parts = dimension.PLACEHOLDER.split(template or dimension.DEFAULT_FORMAT)
    for number, part in enumerate(parts):
        # A split by a pattern with a group has texts and names in turn.
        is_name = number % 2 == 1
        if is_name and part in dimension.LABELS:
            pattern += "%s"
            indexes.append(dimension.LABELS.index(part))
        else:
            text = constants.get(part, f"${{{part}}}") if is_name else part
            # The template is used as a pattern of %, so its own signs are doubled.
            pattern += text.replace("%", "%%")
    if pattern == "%s":
        return operator.itemgetter(indexes[0])
    if not indexes:
        return lambda _labels: pattern % ()
    pick = operator.itemgetter(*indexes)
    return lambda labels: pattern % pick(labels)
