"""What the labels of a result stand for: the name of its item on the hub, and its line on /metrics.

A scoring API names the same label sets cycle after cycle while the scores change, so each is worked out once
and found again by the bytes it was written with: that takes a third of the CPU of 10,000 results away.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from dsf_agent.exposition import Lines
from dsf_agent.naming import Naming

MAX_KEPT: Final = 20_000
"""Label sets that are kept for one scorer, some 600 bytes each; those beyond are worked out again in every
cycle.
"""
MAX_KEPT_BYTES: Final = 1024
"""Length of JSON above which a label set is not kept."""


class Labels(msgspec.Struct, gc=False):
    """The labels that anything reads, in the order of dsf_wire.dimension.LABELS; others are skipped without
    being decoded.
    """

    node: str = ""
    device: str = ""
    namespace: str = ""
    app: str = ""
    pod: str = ""
    container: str = ""
    meta: str = ""


class LabelSet(msgspec.Struct, frozen=True, gc=False):
    """``item`` is empty where the dimension format yields nothing; ``line`` ends where the value begins."""

    item: str
    line: bytes


_LABELS: Final = msgspec.json.Decoder(list[Labels])


class LabelSets:
    """Those of one scorer on one cluster."""

    def __init__(self, *, template: str, cluster: str, score_name: str) -> None:
        self._name = Naming(template=template, cluster=cluster, score_name=score_name).name
        self._lines = Lines(cluster=cluster, score_name=score_name)
        self._before: dict[bytes, LabelSet] = {}
        self._now: dict[bytes, LabelSet] = {}

    def turn(self) -> None:
        """A new answer begins: what the last one did not name is forgotten."""
        self._before, self._now = self._now, {}

    def read(self, metrics: Sequence[bytes]) -> list[LabelSet]:
        """The label sets of these JSON objects. Raises msgspec.DecodeError or UnicodeDecodeError when one of
        them is none.
        """
        known = list(map(self._before.get, metrics))
        found = self._found(metrics, known)
        if len(self._now) < MAX_KEPT:
            if max(map(len, metrics), default=0) <= MAX_KEPT_BYTES:
                self._now.update(zip(metrics, found, strict=True))
            else:
                self._now |= {
                    metric: one
                    for metric, one in zip(metrics, found, strict=True)
                    if len(metric) <= MAX_KEPT_BYTES
                }
        return found

    def _found(self, metrics: Sequence[bytes], known: Sequence[LabelSet | None]) -> list[LabelSet]:
        """``known`` with what is missing in it."""
        present = [label_set for label_set in known if label_set is not None]
        if len(present) == len(known):
            return present
        new = [metric for metric, label_set in zip(metrics, known, strict=True) if label_set is None]
        made = map(self.of, map(msgspec.structs.astuple, _LABELS.decode(b"[%b]" % b",".join(new))))
        return [next(made) if label_set is None else label_set for label_set in known]

    def of(self, labels: tuple[str, ...]) -> LabelSet:
        """The label set of these labels, in the order of dsf_wire.dimension.LABELS."""
        return LabelSet(item=self._name(labels), line=self._lines.begin(labels))
