"""The two sides together: an agent publishes scores of APIs made with the SDK."""

from pathlib import Path

import pytest

from tests.support.agent.http import HttpFake, prometheus, series
from tests.support.agent.running import AgentFolder, entry
from tests.support.scorer.serving import serving
from tests.support.waiting import until

EXAMPLES = Path(__file__).parents[3] / "examples" / "scorers"


@pytest.mark.real_time
async def test_an_agent_publishes_what_sample_scorers_say(
    tmp_path: Path, warm_programs: Path
) -> None:
    place, given = AgentFolder(tmp_path), {"scores": {"region": 80, "green": 12.5}}
    with (
        serving("mean:app", EXAMPLES / "mean", programs=warm_programs) as mean,
        serving("fixed:app", EXAMPLES / "fixed", programs=warm_programs) as fixed,
    ):
        async with HttpFake(prometheus(series(2, points=3))) as source:
            place.put(
                entry("mean", scoring=mean.url, source=source.url),
                entry(
                    "fixed",
                    scoring=fixed.url,
                    scoreDimensionFormat="${meta}",
                    scoringArguments=given,
                ),
            )
            async with place.agent():
                await until(
                    lambda: place.items("mean") and place.items("fixed"), what="both are published"
                )
    assert place.items("mean") == {"n0": 1, "n1": 2}
    assert place.items("fixed") == {"region": 80, "green": 12}
