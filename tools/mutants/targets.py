"""The modules to mutate, and the tests that should notice."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Target:
    """Source files and test files, as globs from the root of the repository."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def source_files(self, root: Path) -> list[Path]:
        return _files(root, self.sources)

    def test_files(self, root: Path) -> list[Path]:
        return _files(root, self.tests)


def _files(root: Path, patterns: tuple[str, ...]) -> list[Path]:
    found = [path for pattern in patterns for path in sorted(root.glob(pattern))]
    return list(dict.fromkeys(found))


_MOVES: Final = (
    "tests/unit/reconciler/moves/test_*.py",
    "tests/integration/reconciler/moves/test_*.py",
    "tests/integration/reconciler/test_fence.py",
)

TARGETS: Final[Mapping[str, Target]] = {
    "publish": Target(
        sources=("packages/wire/dsf_wire/publishrule.py", "agent/dsf_agent/publish/publication.py"),
        tests=(
            "tests/unit/agent/test_publication*.py",
            "tests/unit/wire/test_publishrule.py",
            "tests/unit/agent/test_cancellation.py",
            "tests/unit/agent/test_scores.py",
            "tests/integration/agent/test_hub.py",
        ),
    ),
    "prune": Target(
        sources=("agent/dsf_agent/publish/prune.py",),
        tests=(
            "tests/unit/agent/test_prune.py",
            "tests/unit/agent/test_cancellation.py",
            "tests/integration/agent/test_deletion.py",
        ),
    ),
    "kubernetes": Target(
        sources=(
            "agent/dsf_agent/kubernetes/*.py",
            "agent/dsf_agent/fetch/kubernetes.py",
        ),
        tests=(
            "tests/unit/agent/kubernetes/test_*.py",
            "tests/integration/agent/test_kubernetes_source.py",
        ),
    ),
    "credentials": Target(
        sources=("agent/dsf_agent/endpoints/credentials.py",),
        tests=(
            "tests/unit/agent/test_kept_credentials.py",
            "tests/integration/agent/test_credentials.py",
            "tests/integration/agent/test_hub_credentials.py",
            "tests/integration/agent/test_source_credentials.py",
        ),
    ),
    "query": Target(
        sources=("agent/dsf_agent/scoring/query.py",),
        tests=(
            "tests/unit/agent/test_query_scores.py",
            "tests/unit/agent/test_series.py",
            "tests/integration/agent/test_query_scorers.py",
        ),
    ),
    "clusters": Target(
        sources=(
            "agent/dsf_agent/scoring/clusterlabels.py",
            "agent/dsf_agent/scoring/split.py",
            "agent/dsf_agent/configuration/fleet.py",
            "agent/dsf_agent/publish/fleetstore.py",
        ),
        tests=(
            "tests/unit/agent/test_fleet_*.py",
            "tests/unit/agent/test_many_results.py",
            "tests/integration/agent/test_hub_scorer.py",
        ),
    ),
    "fleet": Target(
        sources=("agent/dsf_agent/publish/publication.py",),
        tests=("tests/unit/agent/test_publication.py", "tests/integration/agent/test_hub_scorer.py"),
    ),
    "deletion": Target(sources=("gitops_dsf/reconciler/moves/deletion.py",), tests=_MOVES),
    "moves": Target(sources=("gitops_dsf/reconciler/moves/rules.py",), tests=_MOVES),
    "scoregc": Target(
        sources=("gitops_dsf/reconciler/scoregc/controller.py",),
        tests=(
            "tests/unit/reconciler/scoregc/test_*.py",
            "tests/integration/reconciler/scoregc/test_*.py",
            "tests/integration/reconciler/test_fence.py",
        ),
    ),
    "lease": Target(
        sources=("gitops_dsf/reconciler/lease.py",),
        tests=("tests/unit/reconciler/test_lease*.py", "tests/integration/reconciler/test_fence.py"),
    ),
    "rules": Target(
        sources=("gitops_dsf/resolve/rules/*.py",),
        tests=(
            "tests/unit/resolve/test_*.py",
            "tests/unit/render/test_agent.py",
            "tests/unit/repository/model/test_validate.py",
            "tests/contract/test_diagnostics_docs.py",
            "tests/golden/test_findings.py",
            "tests/golden/test_golden.py",
        ),
    ),
    "wire": Target(
        sources=("packages/wire/dsf_wire/*.py",),
        tests=(
            "tests/unit/wire/test_*.py",
            "tests/unit/agent/kubernetes/test_*.py",
            "tests/contract/test_schemas.py",
            "tests/unit/agent/test_scores.py",
            "tests/unit/agent/test_snapshot.py",
            "tests/unit/agent/test_publication*.py",
            "tests/unit/scorer/test_*.py",
            "tests/unit/plan/test_plan.py",
        ),
    ),
    "simulator": Target(
        sources=("gitops_dsf/simulator/*.py", "gitops_dsf/simulator/cel/*.py"),
        tests=(
            "tests/unit/simulator/test_*.py",
            "tests/golden/test_explanations.py",
            "tests/contract/test_python_api.py",
            "tests/property/test_simulator.py",
            "tests/unit/resolve/test_cel.py",
            "tests/unit/views/preview/test_*.py",
            "tests/integration/preview/test_*.py",
        ),
    ),
}
