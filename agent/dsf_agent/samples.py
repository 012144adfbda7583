"""The text of the samples of ``dynamic_score`` on /metrics.

It is rendered once per cycle and only written at a scrape, so that 50,000 series are cheap. The
text format is also that of a gauge sample in OpenMetrics:
https://prometheus.io/docs/instrumenting/exposition_formats/.
"""

import asyncio
import itertools
import re
from collections.abc import Mapping
from typing import Final

import msgspec

from dsf_wire.rawscores import CLUSTER_LABEL, MAX_LABEL, METRIC, SCORE_NAME_LABEL

_HELP: Final = "Dynamic score from each scorer, as the scoring API gave it"
HEAD: Final = f"# HELP {METRIC} {_HELP}\n# TYPE {METRIC} gauge\n".encode()
PIECE_LINES: Final = 2500
"""Lines that are rendered before other tasks may run."""
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_SPECIAL: Final = re.compile(r'[\\"\n]').search


def escape(value: str) -> str:
    """A label value between its quotes."""
    return value[:MAX_LABEL].translate(_ESCAPES)


class SamplePrefix:
    """The text of a sample up to its value, for one scorer on one cluster."""

    def __init__(self, *, cluster: str, score_name: str) -> None:
        self._head = f'{METRIC}{{{CLUSTER_LABEL}="{escape(cluster)}",ds_node="'
        self._tail = f'",{SCORE_NAME_LABEL}="{escape(score_name)}"}} '

    def of(self, labels: tuple[str, ...]) -> bytes:
        """The prefix for these labels, in the order of dsf_wire.dimension.LABELS."""
        joined = "".join(labels)
        # One search for all of them: hardly any label has a character that must be escaped.
        if _SPECIAL(joined) or len(joined) > MAX_LABEL:
            labels = tuple([escape(value) for value in labels])
        node, device, namespace, app, pod, container, meta = labels
        text = (
            f'{self._head}{node}",ds_device="{device}",ds_namespace="{namespace}",ds_app="{app}",ds_pod="{pod}"'
            f',ds_container="{container}",ds_meta="{meta}{self._tail}'
        )
        # JSON can hold half of a surrogate pair, and UTF-8 cannot.
        return text.encode("utf-8", "replace")


async def sample_text(samples: Mapping[bytes, float]) -> list[bytes]:
    """The text of finite values, which have their SamplePrefix as key, in pieces.

    To join those of 50,000 would hold the event loop for up to 25 ms. Other tasks run in between.
    """
    remaining = iter(samples.items())
    pieces: list[bytes] = []
    while batch := list(itertools.islice(remaining, PIECE_LINES)):
        parts: list[bytes] = [b""] * (2 * len(batch))
        parts[::2] = [line for line, _ in batch]
        parts[1::2] = _values([value for _, value in batch])
        pieces.append(b"".join(parts))
        await asyncio.sleep(0)
    return pieces


def _values(scores: list[float]) -> list[bytes]:
    """The shortest text of each number, and a newline. msgspec is six times as fast as repr()."""
    return (msgspec.json.encode(scores)[1:-1].replace(b",", b"\n,") + b"\n").split(b",")
