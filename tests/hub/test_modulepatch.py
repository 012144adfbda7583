"""A literal of a module is changed in a copy, and only when it is where it was expected."""

from pathlib import Path

import pytest

from tests.hub.controlplane.modulepatch import PatchError, PatchRule, write_patched

RULE = PatchRule(module="example.com/program", file="pkg/main.go", old='"0.0.0.0:%d"', new='"127.0.0.1:%d"')


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module as it lies in the module cache: read-only."""
    folder = tmp_path / "module"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/main.go").write_text('package main\n\nvar address = "0.0.0.0:%d"\n', encoding="utf-8")
    (folder / "pkg/main.go").chmod(0o444)
    (folder / "pkg").chmod(0o555)
    return folder


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "go.mod").write_text("module hub\n\nrequire example.com/program v1.0.0\n", encoding="utf-8")
    (folder / "go.sum").write_text("example.com/program v1.0.0 h1:abc=\n", encoding="utf-8")
    return folder


def test_the_copy_is_changed_and_stands_for_the_module(tmp_path: Path, module: Path, modules: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    changed = write_patched([RULE], modules=modules, scratch=scratch, module_folder=lambda _: module)
    assert (scratch / "module-0/pkg/main.go").read_text(
        encoding="utf-8"
    ) == 'package main\n\nvar address = "127.0.0.1:%d"\n'
    assert "0.0.0.0" in (module / "pkg/main.go").read_text(encoding="utf-8")
    text = changed.read_text(encoding="utf-8")
    assert text.startswith((modules / "go.mod").read_text(encoding="utf-8"))
    assert text.endswith(f'\nreplace example.com/program => "{scratch / "module-0"}"\n')
    assert changed.with_suffix(".sum").read_text(encoding="utf-8") == (modules / "go.sum").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("content", "count"), [("package main\n", 0), ('a = "0.0.0.0:%d"\nb = "0.0.0.0:%d"\n', 2)]
)
def test_another_text_than_expected_fails_the_build(
    tmp_path: Path, module: Path, modules: Path, content: str, count: int
) -> None:
    (module / "pkg").chmod(0o755)
    (module / "pkg/main.go").chmod(0o644)
    (module / "pkg/main.go").write_text(content, encoding="utf-8")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(
        PatchError, match=rf"example\.com/program: .* stands {count} times in pkg/main\.go, not once"
    ):
        write_patched([RULE], modules=modules, scratch=scratch, module_folder=lambda _: module)
