"""The agent as a process, from the file to scores on a hub, with the environment that an OCM
AddOnTemplate sets.
"""

from datetime import datetime

import pytest

from tests.support.agent.apis import last_values, prometheus, series
from tests.support.agent.configmap import entry
from tests.support.agent.http import HttpFake
from tests.support.agent.hub import ScoreHub, kubeconfig
from tests.support.agent.place import Place
from tests.support.agent.process import agent
from tests.support.waiting import until


@pytest.mark.real_time
async def test_scores_reach_the_hub(place: Place) -> None:
    """After one cycle the scores of a new scorer are on the hub, with our labels and a validUntil by the
    hub's clock.
    """
    hub = ScoreHub()
    hub.ahead = 600.0
    async with (
        hub as api_server,
        HttpFake(prometheus(series(3))) as source,
        HttpFake(last_values) as scoring,
    ):
        place.put(entry("cpu", scoring=scoring.url, source=source.url))
        config = kubeconfig(place.folder / "hub" / "kubeconfig", server=api_server.url)
        environ = {
            "CLUSTER_NAME": "c1",
            "HUB_KUBECONFIG": str(config),
            "CONFIG_DIR": str(place.volume.directory),
        }
        async with agent("--publish", "hub", environ=environ) as running:
            await until(lambda: hub.values("cpu-score"), what="scores on the hub")
            assert hub.values("cpu-score") == {"n0": 2, "n1": 3, "n2": 4}
            stored = hub.scores["c1", "cpu-score"]
            assert stored["metadata"]["labels"] == {
                "app.kubernetes.io/managed-by": "gitops-dsf-agent",
                "gitops-dsf.io/scorer": "cpu",
            }
            left = datetime.fromisoformat(stored["status"]["validUntil"]).timestamp() - hub.now()
            assert 800 <= left <= 901, "15 minutes, less what passed since"
            offset = (await running.metrics())["gitops_dsf_agent_hub_clock_offset_seconds"]
            assert abs(offset - 600) < 30
            assert await running.terminate() == 0
