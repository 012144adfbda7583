"""The two sides together: the agent's process publishes scores of APIs made with the SDK."""

import asyncio
from pathlib import Path
from typing import Any

from tests.support import yamlfast
from tests.support.agent.http import HttpFake, prometheus, series
from tests.support.agent.process import agent
from tests.support.agent.running import ConfigMapVolume, entry
from tests.support.scorer.serving import serving
from tests.support.waiting import until

EXAMPLES = Path(__file__).parents[3] / "examples" / "scorers"
FLAGS = ("--cluster-name", "c1")


def published(folder: Path) -> dict[str, int]:
    """Item name to value over all AddOnPlacementScores that are there, half-written ones left out."""
    found: dict[str, int] = {}
    for path in folder.rglob("*.yaml"):
        score: dict[str, Any] | None = yamlfast.load(path.read_text())
        if score is not None:
            found |= {item["name"]: item["value"] for item in (score.get("status") or {}).get("scores", [])}
    return found


def test_an_agent_publishes_what_sample_scorers_say(tmp_path: Path, warm_programs: Path) -> None:
    async def scenario(mean_url: str, fixed_url: str) -> dict[str, int]:
        async with HttpFake(prometheus(series(2, points=3))) as source:
            ConfigMapVolume(tmp_path / "config").put(
                entry("mean", scoring=mean_url, source=source.url),
                entry(
                    "fixed",
                    scoring=fixed_url,
                    scoreDimensionFormat="${meta}",
                    scoringArguments={"scores": {"region": 80, "green": 12.5}},
                ),
            )
            out = tmp_path / "out"
            async with agent("--config-dir", tmp_path / "config", "--publish", f"dir:{out}", *FLAGS):
                await until(lambda: len(published(out)) == 4, what="both scorers' scores are published")
                return published(out)

    with (
        serving("mean:app", EXAMPLES / "mean", programs=warm_programs) as mean,
        serving("fixed:app", EXAMPLES / "fixed", programs=warm_programs) as fixed,
    ):
        scores = asyncio.run(scenario(mean.url, fixed.url))
    assert scores == {"n0": 1, "n1": 2, "region": 80, "green": 12}
