"""docs/diagnostics.md: every code has an entry; every bad example gives its code at the marked place, every good one does not.

Aspects covered: completeness and order of the entries, titles, the base repository, bad and good examples.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_dsf.codes import CODES
from gitops_dsf.diagnostics import Diagnostic
from gitops_dsf.pipeline import check

DOCS = Path(__file__).parents[2] / "docs" / "diagnostics.md"
ENTRY = re.compile(r"^### (DSF\d{3}) (.+)$", re.MULTILINE)
BLOCK = re.compile(r"^```(yaml|console) (base|bad|good)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^# ([\w./-]+\.yaml)\n", re.MULTILINE)
CARET = re.compile(r"^#(<|\s*\^)\s*$")


@dataclass(frozen=True)
class Entry:
    code: str
    title: str
    blocks: list[tuple[str, str, str]]

    def example(self, kind: str) -> str | None:
        return next((text for language, which, text in self.blocks if which == kind and language == "yaml"), None)


def read_entries() -> tuple[dict[str, str], list[Entry]]:
    text = DOCS.read_text(encoding="utf-8")
    heads = list(ENTRY.finditer(text))
    intro = text[: heads[0].start()]
    base = {name: body for _, _, block in BLOCK.findall(intro) for name, body in files(block).items()}
    ends = [*(head.start() for head in heads[1:]), len(text)]
    entries = [Entry(head[1], head[2], BLOCK.findall(text[head.end() : end])) for head, end in zip(heads, ends, strict=True)]
    return base, entries


def files(block: str) -> dict[str, str]:
    parts = FILE.split(block)
    assert parts[0] == "", f"an example starts with the path of a file: {block!r}"
    return dict(zip(parts[1::2], parts[2::2], strict=True))


BASE, ENTRIES = read_entries()
WITH_YAML = [entry for entry in ENTRIES if entry.example("bad") is not None]


def overlay(base: str, change: str) -> str:
    """A fragment over a whole file: its fields replace those of the same name, at the top and directly below."""
    sections, changed = split(base, ""), split(change, "")
    for key, lines in changed.items():
        if key in sections and len(lines) > 1 and len(sections[key]) > 1:
            inner, outer = split("\n".join(lines[1:]), "  "), split("\n".join(sections[key][1:]), "  ")
            sections[key] = [lines[0], *(line for part in {**outer, **inner}.values() for line in part)]
        else:
            sections[key] = lines
    return "\n".join(line for part in sections.values() for line in part) + "\n"


def split(text: str, indent: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        match = re.match(rf"{indent}(\w+):", line)
        if match or not found:
            found[match[1] if match else ""] = []
        next(reversed(found.values())).append(line)
    return found


def is_whole(body: str) -> bool:
    return body.startswith(("apiVersion:", "- ")) or "\t" in body


def write(root: Path, example: str) -> list[tuple[str, int, int]]:
    """Writes base and example; returns the marked places."""
    changed = files(example)
    marks: list[tuple[str, int, int]] = []
    for name in {**BASE, **changed}:
        body = BASE.get(name, "")
        if name in changed:
            change = changed[name]
            if name not in BASE or is_whole(change):
                body = change
            elif CARET.match(change.splitlines()[0]):
                body = change + body
            else:
                body = overlay(body, change)
        lines: list[str] = []
        for line in body.splitlines():
            if CARET.match(line):
                column = line.index("^") + 1 if "^" in line else 0
                marks.append((name, max(len(lines), 1), column))
            else:
                lines.append(line)
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return marks


def matches(mark: tuple[str, int, int], found: Diagnostic) -> bool:
    """`#<` stands for the first two columns, where a comment has no room for a caret."""
    file, line, column = mark
    place = found.position
    where = place.file == file or file.startswith(f"{place.file}/")
    return where and place.line == line and (place.column == column if column else place.column <= 2)


def test_every_code_has_an_entry_in_order() -> None:
    assert [entry.code for entry in ENTRIES] == list(CODES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_an_entry_has_the_title_of_its_code_and_both_examples(entry: Entry) -> None:
    assert entry.title == CODES[entry.code].title
    assert [which for _, which, _ in entry.blocks] == ["bad", "good"]


def test_the_base_repository_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, "")
    checked = check(tmp_path)
    assert checked.diagnostics == ()
    assert checked.resolved is not None


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_bad_example_gives_its_code_at_the_mark(entry: Entry, tmp_path: Path) -> None:
    example = entry.example("bad")
    assert example is not None
    marks = write(tmp_path, example)
    found = check(tmp_path).diagnostics
    assert len(marks) == 1, "one mark per bad example"
    ours = [item for item in found if item.code == entry.code]
    assert any(matches(marks[0], item) for item in ours), (
        f"marked {marks[0]}, found {[(str(i.position), i.code, i.message) for i in found]}"
    )


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_good_example_has_no_findings(entry: Entry, tmp_path: Path) -> None:
    example = entry.example("good")
    assert example is not None
    write(tmp_path, example)
    assert [(item.code, str(item.position), item.message) for item in check(tmp_path).diagnostics] == []


def codes_in(root: Path) -> set[str]:
    return {item.code for item in check(root).diagnostics}


@pytest.mark.parametrize("code", ["DSF005", "DSF008", "DSF009", "DSF023"])
def test_a_bad_console_example_gives_its_code(code: str, tmp_path: Path) -> None:
    write(tmp_path, "")
    (tmp_path.parent / "elsewhere" / "clusters.yaml").parent.mkdir(exist_ok=True)
    (tmp_path.parent / "elsewhere" / "clusters.yaml").write_text("{}")
    entry = next(entry for entry in ENTRIES if entry.code == code)
    command = next(text for language, which, text in entry.blocks if which == "bad" and language == "console")
    assert code not in codes_in(tmp_path)
    subprocess.run(["bash", "-c", command.removeprefix("$ ")], cwd=tmp_path, check=True)
    assert code in codes_in(tmp_path)


def test_an_empty_folder_is_dsf010(tmp_path: Path) -> None:
    assert codes_in(tmp_path) == {"DSF010"}


def grow(root: Path, count: int) -> None:
    cluster = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: more-{}}}\n"
    (root / "clusters" / "more.yaml").write_text("---\n".join(cluster.format(number) for number in range(count)))


def test_a_decision_of_more_than_a_hundred_clusters_is_dsf320(tmp_path: Path) -> None:
    write(tmp_path, "# apps/web.yaml\nspec:\n  placement:\n    clusterSets: [global]\n")
    grow(tmp_path, 98)
    assert "DSF320" not in codes_in(tmp_path)
    grow(tmp_path, 99)
    assert "DSF320" in codes_in(tmp_path)


def test_many_writes_to_the_hub_are_dsf120(tmp_path: Path) -> None:
    write(tmp_path, "# scorers/cpu.yaml\nspec:\n  scoreTTLSeconds: 120\n  publish: {minIntervalSeconds: 60}\n")
    grow(tmp_path, 11_990)
    assert "DSF120" not in codes_in(tmp_path)
    grow(tmp_path, 12_010)
    assert "DSF120" in codes_in(tmp_path)
