"""README and docs: links lead somewhere, YAML is what the models take, and commands are commands."""

import re
import shlex
from argparse import ArgumentParser
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from gitops_dsf.cli.main import VERBS, verb_parser
from gitops_dsf.repository.model.kinds import KINDS
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        ROOT / "argocd/README.md",
        ROOT / "repo-template/README.md",
        *ROOT.glob("docs/**/*.md"),
    ]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4,}\S.*\n)+", re.MULTILINE)
MAKE = re.compile(r"^make ([a-z-]+)", re.MULTILINE)


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_document_of_ours_is_what_the_models_take(page: Path) -> None:
    if page.name == "diagnostics.md":
        pytest.skip("its bad examples are bad on purpose; test_diagnostics_docs runs them")
    for text in blocks(page, "yaml"):
        for document in yamlfast.load_all(text):
            model = (
                KINDS.get((document.get("apiVersion", ""), document.get("kind", "")))
                if isinstance(document, dict)
                else None
            )
            if model is not None:
                model.model_validate(document)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_exists_with_its_flags(page: Path) -> None:
    wrong = []
    for line in commands(page):
        words = shlex.split(
            re.split(r"\s{2,}", line)[0], comments=True
        )  # what stands apart explains the command
        if len(words) < 2 or words[1].startswith("-") or words[1] == "VERB":
            continue
        if words[1] not in VERBS:
            wrong.append(f"{line}: no such verb")
            continue
        known = help_of(words[1])
        wrong += [
            f"{line}: no {word}"
            for word in words[2:]
            if word.startswith("--") and word.partition("=")[0] not in known
        ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_of_a_block_has_the_arguments_that_its_verb_takes(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = []
    for line in commands(page):
        words = shlex.split(re.split(r"\s{2,}", line)[0], comments=True)
        words = list(takewhile(lambda word: word not in {"|", ">", "2>", ">>"}, words))
        if len(words) < 2 or words[1] not in VERBS or "..." in words or "<" in line:
            continue  # it names a verb in general, or a part of it must be filled in
        try:
            parser_of(words[1]).parse_args(words[2:])
        except SystemExit as end:
            if end.code != 0:
                refused.append((line, capsys.readouterr().err))
    assert refused == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_target_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    asked = {
        target
        for block in INDENTED.findall(text)
        for target in MAKE.findall(re.sub(r"^ +", "", block, flags=re.MULTILINE))
    }
    asked |= set(re.findall(r"`make ([a-z-]+)", text))
    assert asked <= targets


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_has_definition_lists(page: Path) -> None:
    """GitHub and GitLab show them literally."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    assert re.findall(r"^ {0,3}: +\S.*$", text, re.MULTILINE) == []


def test_the_example_of_the_readme_works_as_printed(tmp_path: Path) -> None:
    """As a reader does it: the commands in order, each file at the path that stands above it."""
    text = (ROOT / "README.md").read_text("utf-8").partition("## What you write")[2].partition("\n## ")[0]
    init, render = re.findall(r"^    gitops-dsf (.+)$", text, re.MULTILINE)
    assert gitops_dsf(*init.split(), cwd=tmp_path).returncode == 0
    fleet = tmp_path / "fleet"
    files = re.findall(
        r"`([\w/.-]+\.yaml)`[^`]*(?:`[^`]+`[^`]*)?\n\n```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    assert [path for path, _ in files] == [
        "scorers/cpu-headroom.yaml",
        "apps/guestbook.yaml",
        "clusters/paris.yaml",
    ]
    for path, content in files:
        (fleet / path).write_text(content)  # into folders that are there
    done = gitops_dsf(render, cwd=fleet)
    assert done.returncode == 0, done.stderr
    (look,) = re.findall(r"^    cat (.+)$", text, re.MULTILINE)
    assert "resourceName: cpu-headroom" in (fleet / look).read_text()


def blocks(page: Path, language: str) -> list[str]:
    """Fenced blocks of a language, without the indentation of a list that they stand in."""
    found = []
    for indent, fence, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if fence == language:
            found.append(re.sub(f"^{indent}", "", body, flags=re.MULTILINE))
    return found


def commands(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [
        line.strip().removeprefix("$ ")
        for block in (*INDENTED.findall(text), *fenced(text))
        for line in block.splitlines()
    ]
    return [
        part.strip() for line in lines for part in line.split("&&") if part.strip().startswith("gitops-dsf ")
    ]


def fenced(text: str) -> list[str]:
    return [
        body
        for _, language, body in FENCE.findall(text)
        if language in {"", "sh", "bash", "console", "shell"}
    ]


@cache
def anchors(file: Path) -> frozenset[str]:
    """GitHub's rule: lower-case, punctuation dropped, blanks to dashes."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


@cache
def parser_of(verb: str) -> ArgumentParser:
    return verb_parser(verb)


@cache
def help_of(verb: str) -> frozenset[str]:
    commands = [[verb], *([verb, sub] for sub in ("check", "run", "new") if verb == "scorer")]
    return frozenset(
        option
        for words in commands
        for option in re.findall(r"--[a-z-]+", gitops_dsf(*words, "--help").stdout)
    )
