"""The record of whole runs in docs/start/upgrade.md: what ran with which versions, and when."""

import re
from collections.abc import Mapping
from datetime import date
from typing import Final

from tests.hub.controlplane.family import HUB

PAGE: Final = HUB.parents[1] / "docs/start/upgrade.md"
HEAD: Final = (
    "| Argo CD | OCM | Kubernetes | on | passed | failed | skipped"
    " |\n|---|---|---|---|---|---|---|\n"
)
ARGOCD: Final = "github.com/argoproj/argo-cd/v3"
OTHERS: Final = ("open-cluster-management.io/ocm", "k8s.io/kubernetes")


def versions(families: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the table's first columns, from the go.mod files of the families that ran."""
    argocd = "argocd-oldest/go.mod" if "argocd-oldest" in families else "go.mod"
    return (required(ARGOCD, argocd), *(required(module) for module in OTHERS))


def required(module: str, file: str = "go.mod") -> str:
    """The version of a module that a go.mod file below tests/hub requires, with its v."""
    text = (HUB / file).read_text("utf-8")
    found = re.search(
        rf"^(?:require)?\s*{re.escape(module)} (v\S+)(?: // indirect)?$", text, re.MULTILINE
    )
    assert found is not None, module
    return found[1]


def recorded(page: str, *, families: tuple[str, ...], day: date, counts: Mapping[str, int]) -> str:
    """The page with the row of a run; it replaces the row of the same Argo CD."""
    ran = versions(families)
    before, head, after = page.partition(HEAD)
    if not head:
        msg = f"{PAGE.name} has no table of runs"
        raise ValueError(msg)
    rows = re.match(r"(?:\|.*\n)*", after)
    assert rows is not None
    kept = [row for row in rows[0].splitlines() if not row.startswith(f"| {ran[0]} |")]
    cells = (
        *ran,
        str(day),
        *(str(counts.get(each, 0)) for each in ("passed", "failed", "skipped")),
    )
    kept.append(f"| {' | '.join(cells)} |")
    return (
        before
        + head
        + "".join(f"{row}\n" for row in sorted(kept, reverse=True))
        + after[rows.end() :]
    )


def record(*, families: tuple[str, ...], day: date, counts: Mapping[str, int]) -> None:
    """Writes the row of a run of the whole suite."""
    PAGE.write_text(
        recorded(PAGE.read_text("utf-8"), families=families, day=day, counts=counts),
        encoding="utf-8",
    )
