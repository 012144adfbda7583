"""``dynamic_score`` as text: rendered once per cycle and scorer, joined at scrape, so that a scrape of 50,000 series costs next to nothing.

Text format: https://prometheus.io/docs/instrumenting/exposition_formats/. A gauge sample reads the same in OpenMetrics.
"""

import asyncio
import gzip
import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from dsf_agent.results import Result
from dsf_wire.dimension import LABELS

NAME: Final = "dynamic_score"
HEAD: Final = f"# HELP {NAME} Dynamic score from each scorer, as the scoring API gave it\n# TYPE {NAME} gauge\n".encode()
MAX_LABEL: Final = 256
"""Characters of a label value on /metrics; upstream cuts there too. Item names of the hub are not cut."""

PIECE_LINES: Final = 5000

_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def escape(value: str) -> str:
    """A label value between its quotes."""
    if len(value) > MAX_LABEL:
        value = value[:MAX_LABEL]
    return value.translate(_ESCAPES)


class SampleText:
    """Collects one scorer's samples in batches. Of results with the same labels the last one counts, as upstream."""

    def __init__(self, *, cluster: str, score_name: str) -> None:
        names = [f"ds_{label}" for label in LABELS]
        head = f'{NAME}{{ds_cluster="{escape(cluster)}",' + ",".join(f'{name}="%s"' for name in names).replace("%s", "\0")
        head = head.replace("%", "%%").replace("\0", "%s")
        tail = f',ds_score_name="{escape(score_name)}"}} '.replace("%", "%%")
        self._pattern = head + tail
        self._samples: dict[str, str] = {}

    def add(self, batch: Sequence[Result]) -> None:
        samples, pattern = self._samples, self._pattern
        for labels, score in batch:
            samples[pattern % tuple([escape(value) if value else "" for value in labels])] = repr(score)

    def pieces(self) -> Iterator[bytes]:
        """The lines, some thousands at a time."""
        lines = iter(self._samples.items())
        while batch := list(itertools.islice(lines, PIECE_LINES)):
            yield "".join([f"{labels}{value}\n" for labels, value in batch]).encode("utf-8", "replace")


class Board:
    """The current text of every scorer. A scorer that failed or is gone has none, so no old score looks live.

    Compressed text is kept beside it while somebody asks for gzip: members of a gzip file may simply follow each other (RFC 1952
    section 2.2), so each scorer is compressed once per cycle and never per scrape.
    """

    def __init__(self) -> None:
        self._plain: dict[str, bytes] = {}
        self._zipped: dict[str, bytes] = {}

    def put(self, scorer: str, text: bytes) -> None:
        self._plain[scorer] = text
        self._zipped.pop(scorer, None)

    def drop(self, scorer: str) -> None:
        self._plain.pop(scorer, None)
        self._zipped.pop(scorer, None)

    def plain(self) -> list[bytes]:
        return [HEAD, *self._plain.values()]

    async def zipped(self) -> list[bytes]:
        """Gzip members of head and scorers; new texts are compressed off the event loop."""
        members = [_HEAD_MEMBER]
        for scorer, text in list(self._plain.items()):
            member = self._zipped.get(scorer)
            if member is None:
                member = await asyncio.to_thread(_member, text)
                if self._plain.get(scorer) is text:
                    self._zipped[scorer] = member
            members.append(member)
        return members


def _member(data: bytes) -> bytes:
    # Level 1: the text repeats itself so much that more effort gains little.
    return gzip.compress(data, compresslevel=1, mtime=0)


_HEAD_MEMBER: Final = _member(HEAD)
