"""Everything that a program prints goes through the functions that make texts of others harmless.

A text that is printed as it is may be a command for the runner of a pipeline, or control a terminal
(see `dsf_wire.text`). So each print of the programs is fixed text, or the result of one of the
functions below, or it has a reason in this file.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAFE = {
    "printable",
    "printable_lines",
    "printable_json",
    "json_text",
    "yaml_text",
    "report",
    "table",
}
"""Functions whose results can be printed."""
COUNTS = {"len", "plural", "summary"}
"""Functions whose results hold words and numbers of ours."""
MAY_PRINT = re.compile(r"\bprint\(|\bsys\.std(?:out|err)\b")
_ESCAPES = "this function escapes the texts that it gets"
_OURS = "a page of ours"
_PAGE = "HTML whose every value the kit of pages escapes"
REASONS = {
    "gitops_dsf/cli/backtest.py": {"_formatted(results, notes, args.output)": _ESCAPES},
    "gitops_dsf/cli/ci.py": {
        "preview": "Markdown of `diff`, which escapes it",
        "section": "Markdown of `backtest`, which escapes it",
    },
    "gitops_dsf/cli/diff.py": {
        "page": _PAGE,
        "preview_comment(preview, evidence=evidence)": _ESCAPES,
        "preview_json(preview)": _ESCAPES,
        "preview_text(preview, evidence=evidence, everything=args.all)": _ESCAPES,
    },
    "gitops_dsf/cli/doctor.py": {
        "findings_text(findings, colour=wants_colour(sys.stdout))": _ESCAPES
    },
    "gitops_dsf/cli/explain.py": {
        "_entry(CODES[word])": _OURS,
        "f'{code.id}  {code.severity:<7}  {code.title}\\n'": _OURS,
    },
    "gitops_dsf/cli/install.py": {
        "findings_text(findings, colour=wants_colour(sys.stdout))": _ESCAPES
    },
    "gitops_dsf/cli/log.py": {"'\\n'.join(parts)": _ESCAPES},
    "gitops_dsf/cli/main.py": {"shell_completion.script(args.completion)": _OURS},
    "gitops_dsf/cli/explainplacement.py": {
        "head + _placement(fleet, verdict, data, pace, rows=rows)": _ESCAPES,
        "head + text + failures_by_reason(failures)": _ESCAPES,
        "head + text + failures_of_cluster(failures, now=data.now)": _ESCAPES,
        "page": _PAGE,
        "_page(explanation, verdict, data, assumed, failures)": _PAGE,
    },
    "gitops_dsf/cli/simulate.py": {
        "list_text(verdicts, unscored)": _ESCAPES,
        "page": _PAGE,
        "waves_page(paced, windows, evidence=data.describe())": _PAGE,
        "rankings_text(verdicts, unscored, everything=args.all)": _ESCAPES,
    },
    "gitops_dsf/cli/simulatelosses.py": {"page": _PAGE},
    "gitops_dsf/cli/status.py": {
        "status_json(view)": _ESCAPES,
        "status_text(view, everything=args.all)": _ESCAPES,
        "page.html()": _PAGE,
    },
    "gitops_dsf/cli/test.py": {"_formatted(output, style)": _ESCAPES},
    "gitops_dsf/cli/tryscorer.py": {
        "_formatted(output, args.output)": _ESCAPES,
        "changed_text(tries, as_markdown=args.output == 'markdown')": _ESCAPES,
    },
    "agent/dsf_agent/main.py": {"__version__": _OURS},
    "packages/scorer/dsf_scorer/command.py": {
        "report.json()": _ESCAPES,
        "report.text(verbose=args.verbose)": _ESCAPES,
    },
}


def _prints(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield node
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr"),
                    attr="write",
                )
            ):
                yield node


def _is_safe(node: ast.expr) -> bool:
    """Whether the text of an expression is ours, or was made harmless."""
    match node:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in SAFE | COUNTS
        case ast.JoinedStr(values=values):
            return all(map(_is_safe, values))
        case ast.FormattedValue(value=value):
            return _is_safe(value)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_safe(body) and _is_safe(orelse)
        case ast.BinOp(left=left, right=right):
            return _is_safe(left) and _is_safe(right)
    return False


def _unsafe(path: Path) -> Iterator[str]:
    reasons = REASONS.get(path.relative_to(ROOT).as_posix(), {})
    text = path.read_text(encoding="utf-8")
    if not MAY_PRINT.search(text):  # Few files print, and to parse all takes a second.
        return
    for call in _prints(ast.parse(text)):
        for argument in call.args:
            if not _is_safe(argument) and ast.unparse(argument) not in reasons:
                yield f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(argument)}"


@pytest.mark.parametrize("folder", ["gitops_dsf", "agent/dsf_agent", "packages"])
def test_every_print_is_harmless(folder: str) -> None:
    found = [line for path in sorted((ROOT / folder).rglob("*.py")) for line in _unsafe(path)]
    assert found == []


def test_the_test_finds_a_raw_print(tmp_path: Path) -> None:
    for text, is_safe in (
        ("print(f'{name}: done')", False),
        ("sys.stderr.write(str(error))", False),
        ("print(f'{printable(name)}: {len(items)} files')", True),
    ):
        assert MAY_PRINT.search(text)
        (call,) = _prints(ast.parse(text))
        assert all(map(_is_safe, call.args)) == is_safe
