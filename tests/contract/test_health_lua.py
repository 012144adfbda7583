"""Argo CD's health checks.

Every case in the runtime that scripts of argocd-cm get, with exact status and message.

Argo CD gives such scripts a Lua 5.1 with the base and table libraries only (plus a reduced os and
package, which ours do without); `string` and `math` are absent, and so are methods on strings. What
passes here passes there.
"""

from pathlib import Path
from typing import Any

import lupa.lua51
import pytest

from tests.support import yamlfast
from tests.support.health_cases import ARGOCD, CHECKS, HealthCase, cases, read
from tools import argocd_health

REMOVED = (
    "string",
    "math",
    "io",
    "os",
    "debug",
    "package",
    "require",
    "module",
    "dofile",
    "loadfile",
    "load",
    "loadstring",
    "python",
)
KINDS = {
    "addon.open-cluster-management.io/ClusterManagementAddOn",
    "addon.open-cluster-management.io/ManagedClusterAddOn",
    "cluster.open-cluster-management.io/AddOnPlacementScore",
    "cluster.open-cluster-management.io/Placement",
    "dynamic-scoring.open-cluster-management.io/DynamicScorer",
    "dynamic-scoring.open-cluster-management.io/DynamicScoringConfig",
    "work.open-cluster-management.io/ManifestWork",
    "work.open-cluster-management.io/ManifestWorkReplicaSet",
}


CASES = cases()


def run(script: str, item: dict[str, Any]) -> dict[str, str]:
    """What the script returns for an object, as Argo CD calls it: with the global `obj`."""
    lua = lupa.lua51.LuaRuntime(
        register_eval=False, register_builtins=False, unpack_returned_tuples=True
    )
    lua.execute('getmetatable("").__index = nil')
    names = lua.globals()
    for name in REMOVED:
        names[name] = None
    names.obj = lua.table_from(item, recursive=True)
    answer = lua.execute(script)
    return dict(answer.items())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}/{case.input.stem}")
def test_the_verdict_is_exact(case: HealthCase) -> None:
    item = read(case.input)
    assert f"{item['apiVersion'].partition('/')[0]}/{item['kind']}" == case.kind
    assert run(case.script.read_text(encoding="utf-8"), item) == {
        "status": case.status,
        "message": case.message,
    }


def test_every_kind_that_argocd_has_no_check_for_has_one() -> None:
    assert {f"{script.parts[-3]}/{script.parts[-2]}" for script in CHECKS} == KINDS


@pytest.mark.parametrize("script", CHECKS, ids=lambda script: script.parts[-2])
@pytest.mark.parametrize(
    "status",
    [None, {}, {"conditions": []}, {"conditions": [{"type": "Strange", "status": "True"}]}],
)
def test_a_bare_object_gets_a_verdict(script: Path, status: dict[str, Any] | None) -> None:
    group, kind = script.parts[-3:-1]
    item: dict[str, Any] = {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "bare"}}
    if status is not None:
        item["status"] = status
    answer = run(script.read_text(encoding="utf-8"), item)
    assert answer["status"] in {"Healthy", "Progressing"}
    assert isinstance(answer["message"], str)


def test_the_fragment_of_argocd_cm_is_in_step() -> None:
    text = (ARGOCD.parent / argocd_health.FRAGMENT).read_text(encoding="utf-8")
    assert text == argocd_health.fragment(ARGOCD.parent), "run python -m tools.argocd_health"
    document = yamlfast.load(text)
    assert (document["kind"], document["metadata"]["name"]) == ("ConfigMap", "argocd-cm")
    assert document["data"] == {
        f"resource.customizations.health.{script.parts[-3]}_{script.parts[-2]}": script.read_text(
            encoding="utf-8"
        )
        for script in CHECKS
    }
