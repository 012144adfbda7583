"""The findings about many small repositories, word for word.

Code, place, message, hint and edits, and no others.

Most are near a limit of a rule, on either side. findings.txt has a table for each group of cases:
a text stands there once, above the places and the cases that have it, and the cases without a
finding come last. A severity is named where it is not that of the code. `make golden` writes what
the rules say now; review the diff.

The bad examples of codes (tests/contract/test_diagnostics_docs.py) are no substitute. They show in
a few lines what a code is for, and only the code is compared there. The words, hint, edits and
place of a finding are only here, so a case stays also where its input resembles the example.
"""

from collections.abc import Iterable, Mapping
from inspect import isfunction
from pathlib import Path
from types import ModuleType

import pytest

from gitops_dsf.diagnostics import Diagnostic, Edit, in_order
from gitops_dsf.diagnostics.codes import CODES
from tests.golden import (
    findings_application_sets,
    findings_applications,
    findings_builtin,
    findings_clusters,
    findings_credentials,
    findings_external,
    findings_fields,
    findings_maintenance,
    findings_metric_sources,
    findings_multikueue,
    findings_pace,
    findings_placements,
    findings_rankings,
    findings_score_tests,
    findings_scorers,
    findings_settings,
    findings_several_mistakes,
    findings_urls,
    findings_verification,
)
from tests.golden.findings_documents import Documents
from tests.support.goldentext import GoldenText
from tests.support.repositories import findings


def groups(module: ModuleType) -> Mapping[str, Mapping[str, Documents]]:
    """The cases of each function whose name begins with an underscore, in the order of the file.

    A group is called after the module and the function.
    """
    own = (
        item
        for item in vars(module).values()
        if isfunction(item) and item.__module__ == module.__name__
    )
    prefix = module.__name__.rpartition("findings_")[2]
    return {
        f"{prefix}:{item.__name__}".replace("_", " "): _once(item())
        for item in own
        if item.__name__.startswith("_")
    }


def _once(cases: Iterable[tuple[str, Documents]]) -> Mapping[str, Documents]:
    """A case of the name of another one would not be run, and one of its documents shows
    nothing.
    """
    by_name: dict[str, Documents] = {}
    names: dict[tuple[tuple[str, str], ...], str] = {}
    for name, documents in cases:
        assert name not in by_name, f"two cases are called {name}"
        by_name[name] = documents
        first = names.setdefault(tuple(sorted(documents.items())), name)
        assert first == name, f"{name} has the same documents as {first}"
    return by_name


NO_FINDING = "no finding"
"""The heading of the cases without a finding."""
GROUPS = {
    **groups(findings_fields),
    **groups(findings_settings),
    **groups(findings_scorers),
    **groups(findings_metric_sources),
    **groups(findings_urls),
    **groups(findings_credentials),
    **groups(findings_clusters),
    **groups(findings_applications),
    **groups(findings_application_sets),
    **groups(findings_placements),
    **groups(findings_rankings),
    **groups(findings_score_tests),
    **groups(findings_several_mistakes),
    "pace": findings_pace.CASES,
    "maintenance": findings_maintenance.CASES,
    "built in": findings_builtin.CASES,
    "external": findings_external.CASES,
    "multikueue": findings_multikueue.CASES,
    "verification": findings_verification.CASES,
}
CASES = _once(case for cases in GROUPS.values() for case in cases.items())


def table(group: str) -> list[str]:
    """The table of a group: each text of a finding once, above the places and cases that have it.

    Below are the cases without a finding, so that what a rule refuses is beside what it takes.
    """
    rows: dict[tuple[str, ...], list[str]] = {}
    healthy = []
    for name, documents in GROUPS[group].items():
        found = findings(**documents)
        assert found == in_order(found), name
        for finding in found:
            rows.setdefault(_text(finding), []).append(f"  {finding.position}  {name}")
        if not found:
            healthy.append(f"  {name}")
    lines = [line for text, cases in rows.items() for line in (*text, *cases)]
    return [*lines, NO_FINDING, *healthy] if healthy else lines


def _text(finding: Diagnostic) -> tuple[str, ...]:
    usual = finding.severity is CODES[finding.code].severity
    severity = "" if usual else f" ({finding.severity})"
    lines = [f"{finding.code}{severity} {finding.message}"]
    if finding.hint:
        lines.append(f"    {finding.hint}")
    lines += [f"    --fix {_edit(edit)}" for edit in finding.edits]
    return tuple(lines)


def _edit(edit: Edit) -> str:
    """What `validate --fix` does to a field. A finding that people must decide has no such line."""
    place = ".".join(map(str, edit.path))
    if edit.to:
        return f"moves {place} to {'.'.join(map(str, edit.to))}"
    return f"removes {place}" if edit.value is None else f"writes {place}: {edit.value!r}"


GOLDEN = GoldenText(Path(__file__).parent / "findings.txt", GROUPS, table)


def test_the_file_has_every_group(update_golden: bool) -> None:
    GOLDEN.check_cases(update=update_golden)


@pytest.mark.parametrize("group", GROUPS)
def test_the_findings_about_the_repositories_of_a_group(group: str, update_golden: bool) -> None:
    GOLDEN.check(group, update=update_golden)
