"""Files of a repository: which are read, and what is said about the others."""

import os
import sys
from pathlib import Path

import pytest

from gitops_dsf.errors import RepositoryError
from gitops_dsf.repository.load import load_text
from gitops_dsf.repository.sources import load

MAX_BROKEN = 20

CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:\n"
    "  name: {}\n"
)


def write(root: Path, name: str, content: str | bytes = CLUSTER.format("a")) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def found(root: Path) -> list[tuple[str, str]]:
    return [(item.code, str(item.position)) for item in load(root).diagnostics]


def test_only_the_six_folders_and_the_settings_are_read(tmp_path: Path) -> None:
    read = [
        "apps/a.yaml",
        "clusters/a.yaml",
        "clusters/eu/b.yml",
        "config/a.yaml",
        "gitops-dsf.yaml",
        "locks/a.yaml",
        "scorers/a.yaml",
        "tests/a.yaml",
    ]
    for name in (
        *read,
        "rendered/c.yaml",
        ".git/d.yaml",
        "clusters/.hidden/e.yaml",
        "other.yaml",
        "apps/f.txt",
    ):
        write(tmp_path, name)
    assert [document.file for document in load(tmp_path).documents] == read


def test_a_folder_that_is_not_there_is_an_error_for_people(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="is not a folder"):
        load(tmp_path / "missing")


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    write(tmp_path, "clusters/a.yaml", b"\xef\xbb\xbf" + CLUSTER.format("a").encode())
    loaded = load(tmp_path)
    assert loaded.diagnostics == ()
    assert loaded.documents[0].at(("apiVersion",)).column == 13


def test_the_byte_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    write(tmp_path, "clusters/a.yaml", b"kind: x\nname: \xc3\xa4\xff\n")
    assert found(tmp_path) == [("DSF005", "clusters/a.yaml:2:8")]


def test_links_inside_are_followed_and_links_outside_are_not(tmp_path: Path) -> None:
    root = tmp_path / "root"
    target = write(root, "clusters/a.yaml")
    outside = write(tmp_path, "outside.yaml")
    (root / "clusters" / "inside.yaml").symlink_to(target)
    (root / "clusters" / "out.yaml").symlink_to(outside)
    (root / "clusters" / "nowhere.yaml").symlink_to("missing")
    (root / "clusters" / "loop.yaml").symlink_to("loop.yaml")
    (root / "clusters" / "dir").symlink_to(tmp_path)
    (root / "apps").symlink_to(tmp_path)
    names = [(code, place.split(":")[0]) for code, place in found(root)]
    assert names == [
        ("DSF009", f)
        for f in (
            "apps",
            "clusters/dir",
            "clusters/loop.yaml",
            "clusters/nowhere.yaml",
            "clusters/out.yaml",
        )
    ]
    assert len(load(root).documents) == 2


def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    os.mkfifo(tmp_path / "clusters" / "pipe.yaml")
    assert found(tmp_path) == [("DSF011", "clusters/pipe.yaml:1:1")]


def test_sizes_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "clusters/a.yaml", "#" * 50)
    write(tmp_path, "clusters/b.yaml", "#" * 50)
    monkeypatch.setattr(sys.modules["gitops_dsf.repository.load.discover"], "MAX_TOTAL_BYTES", 99)
    assert found(tmp_path) == [("DSF008", "clusters/b.yaml:1:1")]
    monkeypatch.setattr(sys.modules["gitops_dsf.repository.load.discover"], "MAX_FILE_BYTES", 49)
    assert found(tmp_path) == [("DSF008", "clusters/a.yaml:1:1"), ("DSF008", "clusters/b.yaml:1:1")]


def test_an_empty_repository_is_a_finding(tmp_path: Path) -> None:
    assert found(tmp_path) == [("DSF010", "gitops-dsf.yaml:1:1")]


def test_a_folder_inside_of_a_repository_is_told_from_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "gitops-dsf.yaml").write_text("a: 1")
    (tmp_path / "scorers").mkdir()
    assert (
        load(tmp_path / "scorers").diagnostics[0].hint
        == "the fleet repository is the folder above: name that one"
    )


def test_a_syntax_error_ends_its_document_only() -> None:
    loaded = load_text("a: [\n---\nb: 1\n---\nc: 'x\n---\nd: 1\n", file="f.yaml")
    assert [document.data for document in loaded.documents] == [{"b": 1}, {"d": 1}]
    assert [(item.code, item.position.line) for item in loaded.diagnostics] == [
        ("DSF001", 2),
        ("DSF001", 5),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n", 2),
        ("# a\n<<<<<<< HEAD\n# b\n=======\n---\na: 1\n>>>>>>> other\n", 2),
        ("a: 1\n---\nb: 1\n>>>>>>> 1234567 (subject)\n", 4),
    ],
)
def test_a_merge_conflict_is_one_finding(text: str, line: int) -> None:
    loaded = load_text(text, file="f.yaml")
    assert loaded.documents == ()
    [item] = loaded.diagnostics
    assert (item.code, item.position.line, item.position.column) == ("DSF001", line, 1)
    assert item.message == "a merge conflict that is not resolved"


def test_text_that_only_looks_like_a_conflict_is_read() -> None:
    assert load_text("a: |\n  <<<<<<< HEAD\n", file="f.yaml").diagnostics == ()


OURS = "apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplication\n"


@pytest.mark.parametrize(
    ("file", "text", "hint"),
    [
        ("applications/a.yaml", OURS, "did you mean apps/?"),
        ("fleet/eu/a.yml", "a: 1\n---\n" + OURS, "did you mean apps/?"),
        (
            "inventory/a.yaml",
            "apiVersion: 'cluster.open-cluster-management.io/v1'\nkind: ManagedCluster\n",
            "did you mean clusters/?",
        ),
        ("scorer/a.txt", "", "did you mean scorers/?"),
        ("manifests/a.yaml", "apiVersion: apps/v1\nkind: Deployment\n", None),
        (
            "manifests/a.yaml",
            "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\n",
            None,
        ),
        ("docs/a.yaml", OURS, None),
        ("charts/a.tpl", OURS, None),
    ],
)
def test_a_folder_with_documents_of_ours_is_named(
    tmp_path: Path, file: str, text: str, hint: str | None
) -> None:
    write(tmp_path, "clusters/a.yaml")
    write(tmp_path, file, text)
    folder = file.split("/", maxsplit=1)[0]
    expected = (
        [] if hint is None else [("DSF021", folder, f"the folder {folder}/ is not read", hint)]
    )
    assert [
        (item.code, item.position.file, item.message, item.hint)
        for item in load(tmp_path).diagnostics
    ] == expected


CLUSTER = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"


@pytest.mark.parametrize(
    ("file", "text", "hint"),
    [
        ("guestbook.yaml", OURS, "move it into apps/"),
        (
            "example.yml",
            f"{CLUSTER}---\n{OURS}",
            "split it: its documents belong into apps/ and clusters/",
        ),
        (
            "fleet.yaml",
            "apiVersion: gitops-dsf.io/v1alpha1\nkind: FleetRepository\n",
            "name it gitops-dsf.yaml",
        ),
        ("compose.yaml", "services: {}\n", None),
        (
            "kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
            None,
        ),
        (
            "works.yaml",
            "apiVersion: work.open-cluster-management.io/v1\nkind: ManifestWork\n",
            None,
        ),
        (
            "scores.yaml",
            "apiVersion: cluster.open-cluster-management.io/v1alpha1\nkind: AddOnPlacementScore\n",
            None,
        ),
        ("notes.md", OURS, None),
        (".hidden.yaml", OURS, None),
    ],
)
def test_a_file_beside_the_folders_with_documents_of_ours_is_named(
    tmp_path: Path, file: str, text: str, hint: str | None
) -> None:
    write(tmp_path, "clusters/a.yaml")
    write(tmp_path, file, text)
    expected = [] if hint is None else [("DSF021", file, f"the file {file} is not read", hint)]
    assert [
        (item.code, item.position.file, item.message, item.hint)
        for item in load(tmp_path).diagnostics
    ] == expected


def test_a_fleet_repository_inside_of_another_is_its_own(tmp_path: Path) -> None:
    write(tmp_path, "clusters/a.yaml")
    write(tmp_path, "staging/gitops-dsf.yaml")
    write(tmp_path, "staging/apps/a.yaml", OURS)
    assert load(tmp_path).diagnostics == ()


def test_noise_does_not_bury_other_findings() -> None:
    loaded = load_text("a: [\n---\n" * 500, file="f.yaml")
    assert len(loaded.diagnostics) == MAX_BROKEN + 1
    assert "not read" in loaded.diagnostics[-1].message


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "words"),
    [
        ("a: 1\na: 2\n", "DSF003", 2, 1, "already on line 1"),
        ("{a: 1, b: 2, a: 3}", "DSF003", 1, 14, "a is written twice"),
        ("a:\n\tb: 1\n", "DSF002", 2, 1, "tab"),
        ("a: {{ .Values.a }}\n", "DSF038", 1, 4, "a line of a template"),
        ("a:\n  b: x\n  c: {{ .Values.a }}-x\n", "DSF038", 3, 6, "a line of a template"),
        ('a: {{ include "x" . }}\n', "DSF038", 1, 4, "a line of a template"),
        ("{{- if .Values.on }}\na: b\n{{- end }}\n", "DSF038", 1, 1, "a line of a template"),
        ("a:\n  {{- toYaml .Values.b | nindent 2 }}\n", "DSF038", 2, 3, "a line of a template"),
        ("a:\n  - {{ .Values.a }}\n", "DSF038", 2, 5, "a line of a template"),
        (
            "a: b\nc:\n  {{- range .Values.c }}\n  - x\n  {{- end }}\n",
            "DSF038",
            3,
            3,
            "a line of a template",
        ),
        ("a: {b: [1, {{}}]}\n", "DSF038", 1, 12, "a line of a template"),
        ("a: {b: {c: d}}\nx: [\n", "DSF001", 3, 1, "text ends"),
        ("? {a: b}\n: c\n", "DSF019", 1, 3, "cannot be a field name"),
        ("a: b: c\n", "DSF001", 1, 5, "second"),
        ("a: 'x\n", "DSF001", 1, 4, "never closed"),
        ("a: @x\n", "DSF001", 1, 4, "cannot start"),
        ("a: b\x07\n", "DSF001", 1, 5, "U+0007"),
        ("a:\n  x: 1\n    y: 2\n", "DSF001", 3, 5, "deeper than the one above"),
        ("a:\n    x: 1\n  y: 2\n", "DSF001", 3, 3, "fits neither"),
        ("a: 1\nb:2\nc: 3\n", "DSF001", 2, 2, "no space after the `:`"),
        ("a:2\nc: 3\n", "DSF001", 1, 2, "no space after the `:`"),
        ("http://a\nc: 3\n", "DSF001", 1, 1, "without `:`"),
        ("a: 1\n# b\nb\n", "DSF001", 3, 1, "without `:`"),
        ('a: "x" y\n', "DSF001", 1, 8, "text behind a quoted"),
        ("a: {b: 1\nc: 2\n", "DSF001", 1, 4, "never closed"),
        ("a: [\n  b,\n  c\nd: 2\n", "DSF001", 1, 4, "never closed"),
        ("a: [b\n---\nc: d\n", "DSF001", 1, 4, "never closed"),
        ('a: [\n  "b"\n  "c"\n]\n', "DSF001", 3, 3, "is not closed"),
        ("a: [\n", "DSF001", 2, 1, "the text ends where"),
        ("m:\n  a: 1\n\u00a0 b: 2\n  c: 3\n", "DSF001", 3, 1, "U+00A0"),
        ("a:\u00a01\nb: 2\n", "DSF001", 1, 3, "U+00A0"),
        ('a: "x\u2028y"\nb: 2\n', "DSF001", 1, 6, "U+2028"),
        ("é: 1\nb: x\x85\n", "DSF001", 2, 5, "U+0085"),
        ("%TAG ! x\n---\na: 1\n", "DSF019", 1, 1, "directive"),
        ("a: !!binary aGk=\n", "DSF019", 1, 4, "!!binary"),
        ("? [a]\n: 1\n", "DSF019", 1, 3, "field name"),
        ("a: {<<: {b: 1}}\n", "DSF019", 1, 5, "merge key"),
        ("a: 017\n", "DSF004", 1, 4, "YAML parsers read this"),
        ("off: 1\n", "DSF004", 1, 1, "field names are strings"),
        ("- a\n", "DSF011", 1, 1, "object"),
        ("a: &x [*x]\n", "DSF007", 1, 8, "the alias *x"),
    ],
)
def test_mistakes_have_their_place_and_words(
    text: str, code: str, line: int, column: int, words: str
) -> None:
    [item] = load_text(text, file="f.yaml").diagnostics
    assert (item.code, item.position.line, item.position.column) == (code, line, column)
    assert words in item.message


def test_depth_is_limited_where_it_is_and_not_where_it_only_looks_so() -> None:
    assert load_text(f'a: "{"[" * 500}"\n', file="f.yaml").diagnostics == ()
    [item] = load_text("a: " + "[" * 70 + "]" * 70, file="f.yaml").diagnostics
    assert (item.code, item.position.column) == ("DSF006", 67)


def test_files_that_only_look_as_if_they_were_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "scorers" / "more").mkdir(parents=True)
    for name in ("a.YAML", "b.json", "more/c.yaml.txt", "README.md", ".hidden.json", "d.yaml~"):
        (tmp_path / "scorers" / name).write_text("a: [")
    found = load(tmp_path).diagnostics
    assert [
        (item.code, str(item.position)) for item in sorted(found, key=lambda item: item.position)
    ] == [
        ("DSF021", "scorers/a.YAML:1:1"),
        ("DSF021", "scorers/b.json:1:1"),
        ("DSF021", "scorers/more/c.yaml.txt:1:1"),
    ]
