"""The series of a source one by one, as JSON, with turns for other tasks in between."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from dsf_agent.endpoints.transport import Body
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import SeriesText
from dsf_agent.scoring.results import BATCH
from dsf_runtime.calls import excerpt
from dsf_wire.scored import Reason, Stage

_RAW: Final = msgspec.json.Decoder(list[msgspec.Raw])


async def batches(series: SeriesText, *, stage: Stage) -> AsyncIterator[list[msgspec.Raw]]:
    """The series in batches. Raises AgentError of this stage if they cannot be read."""
    for part in series.parts:
        try:
            elements = _RAW.decode(as_array([part]))
        except (ValueError, RecursionError) as error:
            raise unreadable(error, stage=stage) from error
        for start in range(0, len(elements), BATCH):
            yield elements[start : start + BATCH]
            await asyncio.sleep(0)


def as_array(parts: Iterable[Body | msgspec.Raw]) -> bytes:
    """These elements as one JSON array."""
    return b"[%b]" % b",".join(parts)


def unreadable(error: Exception, *, stage: Stage) -> AgentError:
    """The failure for series that are not the JSON that they should be."""
    text = f"the series of the source cannot be read: {excerpt(str(error))}"
    return AgentError(text, reason=Reason.INVALID_BODY, stage=stage)
