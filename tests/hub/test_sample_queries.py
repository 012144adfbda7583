"""The queries of examples/queries, on a real Prometheus with series as their exporters write them."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub.controlplane.binaries import obtain
from tests.hub.controlplane.processes import Processes
from tests.hub.controlplane.prometheus import ask, past, start_prometheus
from tests.support import yamlfast

pytestmark = [pytest.mark.hub, pytest.mark.family("prometheus")]

SAMPLES = Path(__file__).parents[2] / "examples/queries"
GRID = {"provider": "Ember", "location": "DEU", "units": "gCO2e per kWh"}


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("samplequeries")
    end = float(int(time.time()) - 5)
    minutes = 60
    history = [
        past("node_total_hourly_cost", {"node": "n1"}, [0.4] * minutes, end=end, step=60),
        past("node_total_hourly_cost", {"node": "n2"}, [0.2] * minutes, end=end, step=60),
        *(
            past(
                "kube_node_status_capacity",
                {"node": node, "resource": resource},
                [value] * minutes,
                end=end,
                step=60,
            )
            for node, resource, value in (("n1", "cpu", 8.0), ("n2", "cpu", 4.0), ("n1", "pods", 110.0))
        ),
        past("grid_intensity_carbon_average", GRID, [300.0, 400.0] * 30, end=end, step=60),
        past("energy_price_cents", {"zone": "DE-LU"}, [18.0] * 20 + [30.0] * 40, end=end, step=60),
    ]
    with Processes(logs=folder / "logs") as processes:
        yield start_prometheus(
            binaries=obtain("prometheus"),
            processes=processes,
            folder=folder / "data",
            history=list(itertools.chain.from_iterable(history)),
        )


@pytest.mark.parametrize(
    ("file", "expected"), [("opencost.yaml", 5.0), ("carbon.yaml", 350.0), ("energy-price.yaml", 30.0)]
)
def test_a_query_gives_one_number_for_the_cluster(prometheus: str, file: str, expected: float) -> None:
    query = yamlfast.load((SAMPLES / file).read_text(encoding="utf-8"))["spec"]["source"]["params"]["query"]
    (found,) = ask(prometheus, query)
    assert found["metric"] == {}
    assert float(found["value"][1]) == pytest.approx(expected)
