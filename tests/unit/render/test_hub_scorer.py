"""What is rendered for scorers that run on the hub, and what is not."""

from pathlib import Path
from typing import Any

import pytest

from dsf_wire import summary
from gitops_dsf.plan import HubScoring
from tests.support import fleets
from tests.support.rendering import DSF, objects, on_hub, produced, rendered, scorer


def cluster(name: str, *, claims: dict[str, str] | None = None, **labels: str) -> dict[str, Any]:
    found = dict(fleets.cluster(name, **labels))
    if claims:
        found["status"] = {"clusterClaims": [{"name": key, "value": text} for key, text in claims.items()]}
    return found


def test_a_fleet_without_such_a_scorer_has_no_hub_scorer(tmp_path: Path) -> None:
    found = rendered(tmp_path, scorer("cpu"))
    assert found.plan is not None
    assert found.plan.hub_scoring is None
    assert not [path for path in objects(found) if "hub" in path and "appproject" not in path]


def test_clusters_that_only_the_hub_scores_have_no_agent(tmp_path: Path) -> None:
    """A cluster that a scorer on the spokes selects keeps its agent, also while the scorer is suspended or
    masked. So does a cluster that nothing selects.
    """
    found = objects(
        rendered(
            tmp_path,
            cluster("edge", tier="edge"),
            cluster("prod", tier="prod"),
            cluster("test", tier="test"),
            cluster("idle", tier="idle"),
            scorer("cpu", clusterSelector={"matchLabels": {"tier": "prod"}}),
            scorer("off", clusterSelector={"matchLabels": {"tier": "test"}}, suspend=True),
            on_hub("headroom", clusterSelector=selector("edge", "prod", "test")),
            clusters=0,
        )
    )
    works = sorted(path for path in found if path.startswith("works-"))
    assert works == sorted(
        [
            *(
                f"works-00/{name}.{kind}.yaml"
                for name in ("prod", "test", "idle")
                for kind in ("manifestwork", "managedclusteraddon", "rolebinding")
            ),
            *(f"works-00/{name}.hubscorer.rolebinding.yaml" for name in ("edge", "prod", "test", "idle")),
        ]
    )
    assert data(found["works-00/prod.manifestwork.yaml"], "cpu") == {"name": "cpu"}
    assert data(found["works-00/prod.manifestwork.yaml"], "headroom") is None


def selector(*tiers: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": "tier", "operator": "In", "values": list(tiers)}]}


def data(work: dict[str, Any], name: str) -> dict[str, str] | None:
    (config,) = (item for item in work["spec"]["workload"]["manifests"] if item["kind"] == "ConfigMap")
    entries = summary.decode(config["data"]["summaries"]).summaries
    return next(({"name": entry.name} for entry in entries if entry.name == name), None)


def test_a_mask_keeps_a_scorer_off_a_cluster(tmp_path: Path) -> None:
    masks = {
        "apiVersion": DSF,
        "kind": "DynamicScoringConfig",
        "metadata": {"name": "dynamic-scoring-config"},
        "spec": {"masks": [{"clusterName": "c1", "scoreName": "headroom"}]},
    }
    scoring = scoring_of(rendered(tmp_path, on_hub("headroom"), masks))
    assert [(item.name, item.scorers) for item in scoring.clusters] == [("c0", ("headroom",)), ("c1", ())]


def scoring_of(found: Any) -> HubScoring:
    assert found.plan is not None
    assert found.plan.hub_scoring is not None
    scoring: HubScoring = found.plan.hub_scoring
    return scoring


@pytest.mark.parametrize(("clusters", "codes"), [(2, []), (14, ["DSF153"])])
def test_a_configuration_must_fit_into_a_config_map(tmp_path: Path, clusters: int, codes: list[str]) -> None:
    many = [cluster(f"c-{index}", claims={"id": f"{index}-{'x' * 80_000}"}) for index in range(clusters)]
    label = {"name": "cluster", "claim": "id"}
    source = {**on_hub("x")["spec"]["source"], "clusterLabel": label}
    found = produced(tmp_path, *many, on_hub("headroom", source=source), clusters=0)
    assert [item.code for item in found.diagnostics] == codes
