"""The samples of ``dynamic_score`` as text.

The text of a scorer is rendered once per cycle and only joined at a scrape, so a scrape of 50,000 series is
cheap. Text format: https://prometheus.io/docs/instrumenting/exposition_formats/. A gauge sample looks the
same in OpenMetrics.
"""

import asyncio
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from dsf_wire.rawscores import CLUSTER_LABEL, METRIC, SCORE_NAME_LABEL

_HELP: Final = "Dynamic score from each scorer, as the scoring API gave it"
HEAD: Final = f"# HELP {METRIC} {_HELP}\n# TYPE {METRIC} gauge\n".encode()
MAX_LABEL: Final = 256
"""Longest label value on /metrics, in characters. Longer values are cut, as the upstream agent does. Item
names on the hub are not cut.
"""

PIECE_LINES: Final = 2500

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_SPECIAL: Final = re.compile(r'[\\"\n]').search


def escape(value: str) -> str:
    """A label value between its quotes."""
    if len(value) > MAX_LABEL:
        value = value[:MAX_LABEL]
    return value.translate(_ESCAPES)


class SamplePrefix:
    """The text of a sample up to its value, for one scorer on one cluster."""

    def __init__(self, *, cluster: str, score_name: str) -> None:
        self._head = f'{METRIC}{{{CLUSTER_LABEL}="{escape(cluster)}",ds_node="'
        self._tail = f'",{SCORE_NAME_LABEL}="{escape(score_name)}"}} '

    def of(self, labels: tuple[str, ...]) -> bytes:
        """The prefix for these labels, in the order of dsf_wire.dimension.LABELS."""
        joined = "".join(labels)
        if _SPECIAL(joined) or len(joined) > MAX_LABEL:
            labels = tuple([escape(value) for value in labels])
        node, device, namespace, app, pod, container, meta = labels
        text = (
            f'{self._head}{node}",ds_device="{device}",ds_namespace="{namespace}",ds_app="{app}",ds_pod="{pod}"'
            f',ds_container="{container}",ds_meta="{meta}{self._tail}'
        )
        return text.encode("utf-8", "replace")


class SampleText:
    """Collects one scorer's samples in batches. If results have the same labels, the last one counts, as
    upstream.
    """

    def __init__(self) -> None:
        self._samples: dict[bytes, float] = {}

    def add(self, lines: Iterable[bytes], scores: Sequence[float]) -> None:
        """``lines`` are texts of SamplePrefix. The scores must be finite."""
        self._samples.update(zip(lines, scores, strict=True))

    def pieces(self) -> Iterator[bytes]:
        """The text, PIECE_LINES lines at a time."""
        samples = iter(self._samples.items())
        while batch := list(itertools.islice(samples, PIECE_LINES)):
            parts: list[bytes] = [b""] * (2 * len(batch))
            parts[::2] = [line for line, _ in batch]
            parts[1::2] = _values([value for _, value in batch])
            yield b"".join(parts)

    async def joined(self) -> bytes:
        """The whole text. Other tasks may run between its pieces."""
        pieces: list[bytes] = []
        for piece in self.pieces():
            pieces.append(piece)
            await asyncio.sleep(0)
        return b"".join(pieces)


def _values(scores: list[float]) -> list[bytes]:
    """The shortest text of each number, with a newline. msgspec's JSON encoder is six times as fast as
    repr().
    """
    return (msgspec.json.encode(scores)[1:-1].replace(b",", b"\n,") + b"\n").split(b",")
