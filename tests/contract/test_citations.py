"""Comments cite only what is in this repository: every named page exists, and so does every anchor.

Pages are cited from the root of the repository, as in `docs/decisions/scheduler.md#traps`. The links of the
pages themselves are test_docs' business.
"""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.test_docs import anchors

ROOT = Path(__file__).parents[2]
PAGE = re.compile(r"(?<![\w/:<*{}.-])(?P<path>(?:[\w.-]+/)*[\w-]+\.md)\b(?!\.tmpl)(?:#(?P<anchor>[\w-]+))?")
SECTION = re.compile(r"\b(sections?|chapters?|§) ?\d+(\.\d+)*", re.IGNORECASE)
STANDARD = re.compile(r"RFC \d+|YAML 1\.\d")
"""Standards have numbered sections that everybody can look up."""
CODE = (".py", ".pyi", ".toml", ".yaml", ".yml", ".lua", ".sh", ".tmpl", "Makefile", "Containerfile", "run")
UNINSTALLED = re.compile(r"\bdocs/[\w/-]+\.md")
NOT_OURS = (
    "tests/data/",
    "tests/golden/",
    "schemas/",
    "repo-template/",
    "examples/fleet/",
)
"""Recorded answers of other programs, and files that live or run in a repository of their own."""


def tracked() -> Iterator[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for path in listed.split("\0")[:-1]:
        if path.endswith(CODE) and not path.startswith(NOT_OURS) and (ROOT / path).is_file():
            yield ROOT / path


def uncitable(text: str, file: Path) -> Iterator[str]:
    """What a text cites that the repository does not hold."""
    for number, line in enumerate(text.splitlines(), start=1):
        for found in PAGE.finditer(line):
            pages = [page for page in (ROOT / found["path"], file.parent / found["path"]) if page.is_file()]
            if not pages and not _is_written_here(found["path"], text):
                yield f"{number}: no page {found['path']}"
            elif (
                pages
                and found["anchor"] is not None
                and not any(found["anchor"] in anchors(page) for page in pages)
            ):
                yield f"{number}: no anchor {found[0]}"
        numbered = SECTION.search(line)
        if numbered is not None and not STANDARD.search(line):
            yield f"{number}: {numbered[0]} of a document without numbered sections"


def _is_written_here(path: str, text: str) -> bool:
    """Whether the file itself deals with a file of that name: it is quoted, or the target of a
    redirection.
    """
    return re.search(rf"[\"']{re.escape(path)}[\"']|> {re.escape(path)}", text) is not None


def test_code_cites_what_is_in_the_repository() -> None:
    wrong = [
        f"{file.relative_to(ROOT)}:{problem}"
        for file in tracked()
        if file != Path(__file__)
        for problem in uncitable(file.read_text("utf-8"), file)
    ]
    assert wrong == []


def messages(text: str) -> Iterator[tuple[int, str]]:
    """Strings of a module that cites pages, with their lines, except for its docstrings."""
    if UNINSTALLED.search(text) is None:
        return
    tree = ast.parse(text)
    documentation = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def test_no_message_cites_a_page_that_is_not_installed() -> None:
    """Programs are installed without docs/, except for the page that `explain` reads. Tooltips of
    editors and alerts are messages, too.
    """
    distributions = (
        "gitops_dsf",
        "packages/wire/dsf_wire",
        "packages/scorer/dsf_scorer",
        "packages/runtime/dsf_runtime",
        "agent/dsf_agent",
    )
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {message}"
        for folder in distributions
        for file in (ROOT / folder).rglob("*.py")
        for line, message in messages(file.read_text("utf-8"))
        if UNINSTALLED.search(message) and message != "docs/reference/diagnostics.md"
    ]
    wrong += [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in (
            ROOT / "monitoring/rules.yaml",
            *(ROOT / "repo-template").rglob("*"),
            *(ROOT / "schemas").rglob("*"),
        )
        if file.is_file()
        for line in file.read_text("utf-8").splitlines()
        if UNINSTALLED.search(line)
    ]
    assert wrong == []


def test_a_message_that_cites_a_page_is_found() -> None:
    text = '"""docs/a.md"""\nfix = "see docs/b.md" if a else f"docs/c.md {b}"\n'
    assert [line for line, message in messages(text) if UNINSTALLED.search(message)] == [2, 2]


def test_documents_name_no_missing_page_in_their_prose() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]
    wrong = [
        f"{page.relative_to(ROOT)}: {found[0]}"
        for page in pages
        for found in re.finditer(r"`((?:[\w-]+/)*[\w-]+\.md)(?:#[\w-]+)?`", page.read_text("utf-8"))
        if not (ROOT / found[1]).is_file() and not (page.parent / found[1]).is_file()
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "line",
    [
        "# as the design says (docs/design.md)",
        "# ocm.md tells",
        "# Argo CD looks again (docs/contributing/behaviour.md#no-such-heading)",
        "# within the limits of design section 2",
        "# see chapter 3.1",
    ],
)
def test_what_is_not_here_is_found(line: str) -> None:
    assert len(list(uncitable(line, ROOT / "gitops_dsf" / "x.py"))) == 1


@pytest.mark.parametrize(
    "line",
    [
        "# docs/decisions/scheduler.md#traps",
        "# RFC 9110 section 10.2.3",
        "# YAML 1.2.2, section 9.1.2",
        "# README.md of the repository",
        "https://a.example/x.md",
    ],
)
def test_what_is_here_or_a_standard_passes(line: str) -> None:
    assert list(uncitable(line, ROOT / "gitops_dsf" / "x.py")) == []
