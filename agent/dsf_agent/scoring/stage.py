"""The stage ``score``: sends series to the scoring API and reads its results (wire contract: ``POST
{scoringEndpoint}``). Scorers with ``scoringType: Query`` have the stage of the module ``query``.
"""

import itertools
from collections.abc import Awaitable, Callable

import msgspec

from dsf_agent.endpoints.budget import Reservation
from dsf_agent.endpoints.credentials import Credentials, scoring_auth
from dsf_agent.endpoints.endpoint import Endpoint, refusal
from dsf_agent.endpoints.transport import Body, Call, Transport
from dsf_agent.errors import AgentError
from dsf_agent.fetch.promjson import Series
from dsf_agent.scoring import results
from dsf_agent.scoring.labels import LabelSets
from dsf_agent.scoring.results import Results
from dsf_runtime.calls import display
from dsf_runtime.clock import Clock
from dsf_wire.summary import Summary

Scoring = Callable[[Series], Awaitable[Results]]
"""The second stage of a cycle, for one scorer: the results for these series; there may be none. Raises
AgentError.
"""


class Score:
    """The second stage of a cycle, for one scorer with a scoring API."""

    def __init__(
        self,
        *,
        scorer: Summary,
        transport: Transport,
        credentials: Credentials,
        clock: Clock,
        label_sets: LabelSets,
        reservation: Reservation,
    ) -> None:
        self._scorer = scorer
        self._label_sets = label_sets
        self._clock = clock
        self._endpoint = Endpoint(
            transport=transport, credentials=credentials, auth=scoring_auth(scorer), reservation=reservation
        )
        self._tail = b"]}"
        if scorer.scoring_arguments is not None:
            self._tail = b'],"arguments":' + msgspec.json.encode(scorer.scoring_arguments) + b"}"

    async def __call__(self, series: Series) -> Results:
        """The results for these series; there may be none. Raises AgentError."""
        try:
            return await self._called(series)
        except AgentError as error:
            raise error.anew(self._endpoint.hide(str(error))) from error

    async def _called(self, series: Series) -> Results:
        answer = await self._endpoint.call(
            Call(
                method="POST",
                url=self._scorer.scoring_endpoint,
                headers={"Content-Type": "application/json"},
                body=tuple(self._body(series)),
                scores=True,
            )
        )
        if not answer.ok:
            url = self._scorer.scoring_endpoint
            raise refusal(answer, url=url, now=self._clock.wall())
        where = display(self._scorer.scoring_endpoint)
        return await results.read(answer.body, where=where, label_sets=self._label_sets)

    def _body(self, series: Series) -> list[Body]:
        commas = itertools.chain([b'{"data":['], itertools.repeat(b","))
        parts: list[Body] = [
            piece for part, comma in zip(series.parts, commas, strict=False) for piece in (comma, part)
        ]
        return [*(parts or [b'{"data":[']), self._tail]
