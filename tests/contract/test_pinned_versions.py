"""Versions of other programs in the documents.

Those that the hub suite runs, and the oldest that we support.

The documents write a tested version with a v ("OCM v1.2.1") and an oldest version without one ("OCM
1.2.1 or newer").
"""

import re
import tomllib
from pathlib import Path

import pytest

from gitops_dsf.argocd import api
from gitops_dsf.argocd.fields import part
from gitops_dsf.argocd.gotemplate import functions
from gitops_dsf.views.doctor.checks import argocd, ocm
from tests.hub import runrecord
from tests.hub.runrecord import required

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)
PINS = {"OCM": "open-cluster-management.io/ocm", "Argo CD": "github.com/argoproj/argo-cd/v3"}
OLDEST = {"OCM": ocm.MINIMUM, "Argo CD": argocd.MINIMUM}
TESTED = re.compile(r"(OCM|Argo CD)[\s*]+v(\d+(?:\.\d+)+)")
REQUIRED = re.compile(r"(OCM|Argo CD)[\s*]+(\d+(?:\.\d+)+)")


def pinned(program: str) -> str:
    return required(PINS[program]).removeprefix("v")


def said(pattern: re.Pattern[str]) -> list[tuple[str, str, str]]:
    return [
        (page.relative_to(ROOT).as_posix(), *found.groups())
        for page in PAGES
        for found in pattern.finditer(page.read_text("utf-8"))
    ]


def test_tested_versions_are_the_pins_of_the_hub_suite() -> None:
    tested = said(TESTED)
    assert {program for _, program, _ in tested} == set(PINS), (
        "docs/decisions/scheduler.md names both"
    )
    assert [
        (page, program, version) for page, program, version in tested if version != pinned(program)
    ] == []


def test_oldest_versions_are_those_that_doctor_demands() -> None:
    required = said(REQUIRED)
    assert {program for _, program, _ in required} == set(OLDEST), "README.md names both"
    assert [
        line
        for line in required
        if line[2] != ".".join(map(str, oldest(line[1])[: line[2].count(".") + 1]))
    ] == []


def oldest(program: str) -> tuple[int, int, int]:
    minimum = OLDEST[program]
    return minimum.major, minimum.minor, minimum.micro


def compatible() -> dict[str, tuple[str, str]]:
    """The oldest and the tested version of each row of docs/start/upgrade.md."""
    text = (ROOT / "docs/start/upgrade.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    return {program: (minimum, tested) for program, minimum, tested in rows}


def test_the_table_of_compatible_versions_has_the_pins() -> None:
    prometheus = required("github.com/prometheus/prometheus").removeprefix("v0.")
    tested = {program: tested for program, (_, tested) in compatible().items()}
    assert {program: version for program, version in tested.items() if version.startswith("v")} == {
        "Kubernetes, hub and clusters": required("k8s.io/kubernetes"),
        "Open Cluster Management": required(PINS["OCM"]),
        "Argo CD": required(PINS["Argo CD"]),
        "Prometheus": f"v{prometheus[0]}.{int(prometheus[1:3])}.{prometheus.split('.')[1]}",
        "Flux kustomize-controller": required(
            "github.com/fluxcd/kustomize-controller", "flux/go.mod"
        ),
        "Kueue": required("sigs.k8s.io/kueue", "consumers/go.mod"),
        "OCM's policies": required(
            "open-cluster-management.io/governance-policy-propagator", "consumers/go.mod"
        ),
    }


def test_the_table_of_compatible_versions_has_the_oldest_versions() -> None:
    minimum = {program: minimum for program, (minimum, _) in compatible().items()}
    assert minimum["Open Cluster Management"] == ".".join(map(str, oldest("OCM")))
    assert minimum["Argo CD"] == ".".join(map(str, oldest("Argo CD")))
    python = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "requires-python"
    ]
    assert minimum["Python, for the command line"] == python.removeprefix(">=")


def test_the_recorded_facts_are_those_of_the_pinned_versions() -> None:
    """`tests/hub/test_argocd_api.py` compares all of them with the sources."""
    sources = {
        "argocd": PINS["Argo CD"],
        "sprig": "github.com/Masterminds/sprig/v3",
        "ocm": "open-cluster-management.io/api",
    }
    assert {name: api()[name] for name in sources} == {
        name: required(module) for name, module in sources.items()
    }, "run python -m tools.argocd_api"


def test_argocd_has_every_plain_function_and_the_fields_that_rules_read() -> None:
    assert set(api()["functions"]) >= {
        *functions.SIGNATURES,
        *functions.FALLS_BACK,
        *functions.MAKES_KEYS,
        *functions.DIFFERS,
    }
    assert set(api()["functions"]).isdisjoint({"env", "expandenv", "getHostByName"})
    source = part("template", "spec", "source")["properties"]
    assert set(source) > {"helm", "kustomize", "directory", "plugin"}
    assert "automated" in part("template", "spec", "syncPolicy")["properties"]


def test_the_oldest_argocd_runs_every_night() -> None:
    assert required(PINS["Argo CD"], "argocd-oldest/go.mod") == "v" + ".".join(
        map(str, oldest("Argo CD"))
    )
    assert "FAMILY=kubernetes,ocm,argocd-oldest" in (
        ROOT / ".github/workflows/nightly.yaml"
    ).read_text("utf-8")


def test_the_kueue_that_runs_is_the_one_whose_kinds_the_examples_have() -> None:
    kueue = "sigs.k8s.io/kueue"
    assert required(kueue, "kueue/go.mod") == required(kueue, "consumers/go.mod")


@pytest.mark.parametrize("workflow", ["ci.yaml", "nightly.yaml"])
def test_the_families_that_make_test_hub_leaves_out_run_in_ci(workflow: str) -> None:
    text = (ROOT / ".github/workflows" / workflow).read_text("utf-8")
    assert re.search(r"make test-hub FAMILY=\S+,kueue PYTEST_ARGS=\"-k kueue\"", text)


def test_the_release_signs_with_the_cosign_that_is_tested() -> None:
    workflow = (ROOT / ".github/workflows/build.yaml").read_text("utf-8")
    tested = required("github.com/sigstore/cosign/v3", "cosign/go.mod")
    assert set(re.findall(r"cosign-release: (\S+)", workflow)) == {tested}


NEWEST, OLDEST_RUN = ("kubernetes", "ocm", "argocd"), ("kubernetes", "ocm", "argocd-oldest")


def test_the_recorded_runs_are_of_the_pinned_versions() -> None:
    """After a pin has moved, run the suite with RECORD=1."""
    _, _, after = (ROOT / "docs/start/upgrade.md").read_text("utf-8").partition(runrecord.HEAD)
    rows = [tuple(row.strip("| ").split(" | ")) for row in after.partition("\n\n")[0].splitlines()]
    assert [row[:3] for row in rows] == [runrecord.versions(NEWEST), runrecord.versions(OLDEST_RUN)]
