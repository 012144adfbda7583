"""README and docs: every link leads somewhere, and every block is what it says.

YAML is a whole object, a part of a file of a fleet repository, or the configuration of another
program; its first line or its title names the file or the program. Commands exist with their
arguments. Python and shell sessions (`console`) stand on pages that a test runs.
"""

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.main import VERBS, verb_parser
from gitops_dsf.repository.model.declared import KINDS
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.diagnostics_docs import BASE
from tests.support.pages import FENCE, PAGES, ROOT, TARGETS, Block, anchors, blocks, name

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CITED = re.compile(
    r"(?<![\w/:<*{}.-])(?P<path>(?:[\w.-]+/)*[\w-]+\.md)\b(?!\.tmpl)(?:#(?P<anchor>[\w-]+))?"
)
CODE = (
    ".py",
    ".pyi",
    ".toml",
    ".yaml",
    ".yml",
    ".lua",
    ".sh",
    ".tmpl",
    "Makefile",
    "Containerfile",
    "run",
)
NOT_OURS = ("tests/data/", "tests/golden/", "schemas/", "repo-template/", "examples/fleet/")
"""Recorded answers of other programs, and files that live or run in a repository of their own."""


def dead(file: Path, target: str) -> bool:
    """Whether a link or a citation leads nowhere, from the file or from the root of the
    repository.
    """
    path, _, anchor = target.partition("#")
    found = [
        page for page in ((file.parent / path).resolve(), ROOT / path) if path and page.exists()
    ]
    pages = found if path else [file]
    return not pages or (anchor != "" and not any(anchor in anchors(page) for page in pages))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text("utf-8"))
    links = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]
    assert [target for target in links if dead(page, target)] == []
    cited = re.findall(r"`((?:[\w-]+/)*[\w-]+\.md(?:#[\w-]+)?)`", text)
    assert [target for target in cited if dead(page, target.partition("#")[0])] == []


def test_comments_cite_what_is_in_the_repository() -> None:
    """A file may name pages that it deals with itself: it quotes them, or redirects into them."""
    wrong = []
    for path in output_of("git", "ls-files", cwd=ROOT).splitlines():
        if path.endswith(CODE) and not path.startswith(NOT_OURS) and (ROOT / path).is_file():
            text = (ROOT / path).read_text("utf-8")
            for found in CITED.finditer(text) if ".md" in text else ():
                own = rf"[\"']{re.escape(found['path'])}[\"']|> {re.escape(found['path'])}"
                if dead(ROOT / path, found[0]) and not re.search(own, text):
                    wrong.append(f"{path}: {found[0]}")
    assert wrong == []


RUN_BY = {
    "CONTRIBUTING.md": "contract/test_walks.py",
    "README.md": "contract/test_walks.py",
    "docs/decisions/backtest.md": "contract/test_walks.py",
    "docs/decisions/one-decision.md": "contract/test_walks.py",
    "docs/decisions/preview.md": "contract/test_walks.py",
    "docs/decisions/verified-moves.md": "contract/test_walks.py",
    "docs/start/kind.md": "hub/test_first_hour.py",
    "docs/start/quickstart.md": "contract/test_walks.py",
    "docs/reference/diagnostics.md": "contract/test_diagnostics_docs.py",
    "docs/reference/outputs.md": "contract/test_python_api.py",
    "docs/scores/scorers.md": "unit/scorer/test_guide.py",
    "docs/scores/your-own-api.md": "contract/test_walks.py",
}
"""The test that runs the Python and the shell sessions of a page."""
PARTS = {
    "gitops-dsf.yaml": "gitops-dsf.yaml",
    "scorers": "scorers/cpu.yaml",
    "apps": "apps/web.yaml",
}
"""The file of the base repository that a part of a file is merged into, by file or folder."""
ELSEWHERE = (
    "# prometheus.yml of ",
    "# configuration of ",
    "# an Application of Argo CD, below spec",
)
INDENTED = re.compile(r"(?:^ {4,}\S.*\n)+", re.MULTILINE)


def wrong_yaml(page: Path, block: Block) -> Iterator[str]:
    if page.name == "diagnostics.md":  # its bad examples are bad on purpose
        return
    first = block.text.splitlines()[0]
    if first.startswith(ELSEWHERE) or block.title.startswith("."):
        yamlfast.load(block.text)
        return
    for written in yamlfast.load_all(block.text):
        document = written
        if not {"apiVersion", "kind", "metadata"} <= document.keys():
            target = PARTS.get(first.removeprefix("# ").partition("/")[0])
            if not first.startswith("# ") or target is None:
                yield f"the first line does not say what this is: {first}"
                continue
            document = merged(yamlfast.load(BASE[target]), written)
        model = KINDS.get((document["apiVersion"], document["kind"]))
        if model is not None:
            model.model_validate(document)


def merged(whole: Any, part: Any) -> Any:
    """A mapping with the fields of a part, field by field."""
    if not isinstance(whole, Mapping) or not isinstance(part, Mapping):
        return part
    return {**whole, **{key: merged(whole.get(key), value) for key, value in part.items()}}


def not_run(page: Path, block: Block) -> Iterator[str]:
    test = RUN_BY.get(name(page))
    if test is None or page.name not in (ROOT / "tests" / test).read_text("utf-8"):
        yield f"no test runs the {block.language} of this page"


def nothing(_page: Path, _block: Block) -> Iterator[str]:
    yield from ()


CHECKS: Mapping[str, Callable[[Path, Block], Iterator[str]]] = {
    "yaml": wrong_yaml,
    "python": not_run,
    "console": not_run,
    **dict.fromkeys(("", "sh", "bash", "text", "diff", "promql"), nothing),
}
"""By language. The commands of all blocks are checked below."""


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_is_what_it_says(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = [problem for block in blocks(page) for problem in CHECKS[block.language](page, block)]
    for line in lines_of_blocks(page):
        for command in map(str.strip, line.split("&&")):
            if command.startswith("gitops-dsf "):
                wrong += refused(command, capsys)
            wrong += [
                f"no target {target}" for target in asked(r"^make ([a-z-]+)", command) - TARGETS
            ]
    wrong += [
        f"no target {one}" for one in asked(r"`make ([a-z-]+)", page.read_text("utf-8")) - TARGETS
    ]
    assert wrong == []


def asked(pattern: str, text: str) -> set[str]:
    return set(re.findall(pattern, text))


def lines_of_blocks(page: Path) -> list[str]:
    """Of indented blocks and of those of a shell."""
    text = page.read_text("utf-8").replace("\\\n", " ")
    fenced = [
        found["text"]
        for found in FENCE.finditer(text)
        if found["language"] in {"", "sh", "bash", "console"}
    ]
    return [
        line.strip().removeprefix("$ ")
        for block in (*INDENTED.findall(text), *fenced)
        for line in block.splitlines()
    ]


def refused(line: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What stands apart explains the command. Where a part must be filled in, its flags exist."""
    words = shlex.split(re.split(r"\s{2,}", line)[0], comments=True)
    words = list(takewhile(lambda word: word not in {"|", ">", "2>", ">>"}, words))
    if len(words) < 2 or words[1].startswith("-") or words[1] == "VERB":
        return []
    if words[1] not in VERBS:
        return [f"{line}: no such verb"]
    if "..." in words or "<" in line:
        flags = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
        return [f"{line}: no {flag}" for flag in flags - flags_of(words[1])]
    try:
        parser_of(words[1]).parse_args(words[2:])
    except SystemExit as end:
        return [f"{line}: {capsys.readouterr().err}"] if end.code else []
    return []


@cache
def parser_of(verb: str) -> ArgumentParser:
    return verb_parser(verb)


@cache
def flags_of(verb: str) -> frozenset[str]:
    commands = [[verb], *([verb, sub] for sub in ("check", "run", "new") if verb == "scorer")]
    return frozenset(
        option
        for words in commands
        for option in re.findall(r"--[a-z-]+", gitops_dsf(*words, "--help").stdout)
    )
