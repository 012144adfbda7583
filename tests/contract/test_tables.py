"""Tables of the documents are complete, and what they name exists."""

import ast
import pkgutil
import re

from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.render.reconciler_rights import (
    DECISIONS,
    JOB_DECISIONS,
    RIGHTS,
    multi_kueue_rights,
)
from gitops_dsf.views.doctor.examine import CHECKS
from tests.support import yamlfast
from tests.support.pages import ROOT, blocks

DOCS = ROOT / "docs"
SUITE = ROOT / "tests" / "hub"


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def test_every_check_of_doctor_has_a_row_and_its_role_only_reads() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \|", text_of("operate/status.md"), re.MULTILINE)
    assert rows == [check.id for check in CHECKS]
    role = yamlfast.load(blocks(DOCS / "operate/status.md", "yaml")[0].text)
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}


def test_the_rights_of_the_reconciler_are_those_that_are_rendered() -> None:
    _, _, table = text_of("operate/security.md").partition("| where | what |\n|---|---|\n")
    rights: dict[str, list[str]] = {}
    for right in (*RIGHTS, DECISIONS, *JOB_DECISIONS, *multi_kueue_rights(["gpu-jobs"])):
        names = "".join(f" `{name}`" for name in right.names)
        rights.setdefault(right.where, []).append(
            f"{right.resource}{names} ({', '.join(right.verbs)})"
        )
    assert table.partition("\n\n")[0].splitlines() == [
        f"| {where} | {'; '.join(what)} |" for where, what in rights.items()
    ]


def test_every_hazard_names_a_rule_and_a_test_and_every_hazard_test_is_named() -> None:
    _, _, section = text_of("decisions/scheduler.md").partition("\n## Hazards\n")
    rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| hazard |")
    ]
    assert len(rows) > 30
    named = set()
    for row in rows:
        assert [bool(cell) for cell in row] == [True] * 4, row
        *_, rule, test = row
        assert rule.startswith(("renderer", "agent", "none: ")) or set(rule.split(", ")) <= set(
            CODES
        ), row
        named.add(test.strip("`"))
    assert named <= hub_tests("test_*.py")
    assert hub_tests("test_hazards*.py") - named == set()


def hub_tests(files: str) -> set[str]:
    return {
        f"{file.name}::{item.name}"
        for file in SUITE.glob(files)
        for item in ast.parse(file.read_text("utf-8")).body
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
    }


def test_every_step_of_the_architecture_names_code_that_exists() -> None:
    page = text_of("contributing/architecture.md")
    steps = re.findall(r"^    ([a-z_]+(?:\.\w+)+)(?: +-> (\w+))? ", page, re.MULTILINE)
    assert len(steps) > 20
    classes = {
        node.name
        for folder in ("gitops_dsf", "agent/dsf_agent", "packages/wire/dsf_wire")
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    }
    for place, given in steps:
        full = place if place.startswith("dsf_agent.") else f"gitops_dsf.{place}"
        assert pkgutil.resolve_name(full) is not None
        assert not given or given in classes, f"{place} gives {given}"
