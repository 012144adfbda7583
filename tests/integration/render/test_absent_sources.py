"""Source files that git has and the reader does not see.

Nothing is deleted because a file is absent.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.preview.gitfleet import (
    GitFleet,
    Run,
    application,
    cluster,
    save,
    snapshot,
)
from tests.support import yamlfast
from tests.support.commandline import output_of
from tests.support.kept import copied

EXTRA = "clusters/extra.yaml"
"""The file that is absent."""


@pytest.fixture
def fleet(tmp_path: Path) -> GitFleet:
    """Three clusters in one file, and ten in files of their own, rendered and committed."""
    names = (*(f"c-{number}" for number in range(10)), "extra")
    return GitFleet.rendered(tmp_path / "fleet", *(cluster(name, "eu") for name in names))


@pytest.fixture
def run() -> Run:
    return Run()


def shell(command: str, *, cwd: Path) -> str:
    """Runs a command as a message prints it."""
    return output_of("bash", "-e", "-c", command, cwd=cwd)


def finds_nothing(run: Run, *where: Path) -> bool:
    """Whether `validate` finds nothing but what it finds in every fleet of these tests."""
    return "DSF03" not in run("validate", *where) + run.err


def hinted(text: str) -> list[str]:
    """The commands in a message, in their order."""
    return text.split("`")[1::2]


def left_out(fleet: GitFleet) -> None:
    # Git compares a file with its index by its inode first, takes a copy for a change, and leaves
    # no changed file out.
    fleet.git("update-index", "-q", "--refresh")
    fleet.git("sparse-checkout", "set", "--no-cone", "/*", f"!/{EXTRA}")


def marked(fleet: GitFleet) -> None:
    fleet.git("update-index", "--skip-worktree", EXTRA)
    (fleet.path / EXTRA).unlink()


def deleted(fleet: GitFleet) -> None:
    (fleet.path / EXTRA).unlink()


def in_the_way(fleet: GitFleet) -> None:
    (fleet.path / EXTRA).unlink()
    (fleet.path / EXTRA).mkdir()


HUB = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"
    " {name: new}\n"
)
VERBS = (
    ("validate",),
    ("render",),
    ("render", "--check"),
    ("render", "--stdout"),
    ("test",),
    ("sync",),
    ("diff", "--base", "HEAD"),
    ("simulate", "--scores", "HUB"),
    ("explain", "guestbook", "--scores", "HUB"),
    ("import", "--from", "HUB/hub.yaml"),
    ("install", "--dry-run", "--context", "none"),
)


def test_every_verb_names_the_file_and_writes_nothing(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    deleted(fleet)
    hub = save(snapshot(), tmp_path / "hub")
    (hub / "hub.yaml").write_text(HUB)
    before = fleet.git("status", "--porcelain", "--untracked-files=all")
    for verb in VERBS:
        words = [word.replace("HUB", str(hub)) for word in verb]
        at = 2 if "explain" in verb else 1
        out = run(*words[:at], fleet.path, *words[at:], code=1)
        assert f"{EXTRA}:1" in out + run.err, verb
        assert "git has this file, and it is not in the folder" in out + run.err, verb
    assert fleet.git("status", "--porcelain", "--untracked-files=all") == before


@pytest.mark.parametrize("lose", [left_out, marked, deleted])
def test_the_command_that_is_printed_brings_the_file_back(
    fleet: GitFleet, run: Run, lose: Callable[[GitFleet], None]
) -> None:
    lose(fleet)
    out = run("validate", fleet.path, code=1)
    assert f"{EXTRA}:1:1: error DSF035: git has this file" in out
    shell(hinted(out)[-1], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)
    assert run("render", fleet.path, "--check") == ""


@pytest.mark.parametrize("lose", [left_out, marked, deleted])
def test_the_command_that_removes_it_is_printed_too(
    fleet: GitFleet, run: Run, lose: Callable[[GitFleet], None]
) -> None:
    lose(fleet)
    out = run("validate", fleet.path, code=1)
    shell(hinted(out)[0], cwd=fleet.path.parent)
    assert "3 removed" in run("render", fleet.path)


def test_a_folder_in_place_of_the_file(fleet: GitFleet, run: Run) -> None:
    in_the_way(fleet)
    assert "DSF035" in run("render", fleet.path, code=1) + run.err


def test_in_its_own_folder_the_command_needs_no_path(
    fleet: GitFleet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted(fleet)
    monkeypatch.chdir(fleet.path)
    assert hinted(run("validate", code=1)) == [f"git rm {EXTRA}", f"git restore {EXTRA}"]


def test_a_name_that_a_shell_would_split(fleet: GitFleet, run: Run) -> None:
    name = "clusters/it's; a cluster.yaml"
    fleet.write(name, cluster("odd", "eu"))
    fleet.commit("odd")
    (fleet.path / name).unlink()
    shell(hinted(run("validate", fleet.path, code=1))[-1], cwd=fleet.path.parent)
    assert (fleet.path / name).is_file()


def test_a_sparse_checkout_without_a_whole_folder(fleet: GitFleet, run: Run) -> None:
    """More files than anybody reads are counted."""
    for number in range(40):
        fleet.write(f"apps/a-{number:02}.yaml", application(f"a-{number:02}"))
    fleet.commit("many")
    fleet.git("sparse-checkout", "set", "clusters", "scorers")
    out = run("validate", fleet.path, code=1)
    assert out.count("DSF035") == 21
    assert "; the same holds for 20 more files" in out
    shell(hinted(out)[-1], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)


def test_a_sparse_checkout_that_has_the_fleet(tmp_path: Path, run: Run) -> None:
    """Pipelines of a large repository check out one folder."""
    fleet = GitFleet(tmp_path / "mono", folder="fleets/emea")
    (fleet.top / "services").mkdir()
    (fleet.top / "services/clusters.yaml").write_text("a: 1\n")
    fleet.commit("more")
    fleet.git("sparse-checkout", "set", "fleets/emea")
    assert not (fleet.top / "services").exists()
    assert finds_nothing(run, fleet.path)


def test_what_developers_do_is_no_mistake(fleet: GitFleet, run: Run) -> None:
    """A deletion that is staged, a new file, an edit, a file that is only told to git, and one that
    git forgot but that is still here.
    """
    fleet.git("rm", "--quiet", EXTRA)
    fleet.write("clusters/new.yaml", cluster("new", "eu"))
    fleet.write("clusters/c-1.yaml", cluster("c-1", "us"))
    fleet.write("clusters/intended.yaml", cluster("intended", "us"))
    fleet.git("add", "--intent-to-add", "clusters/intended.yaml")
    fleet.git("rm", "--quiet", "--cached", "clusters/c-2.yaml")
    fleet.git("mv", "clusters/c-3.yaml", "clusters/c-three.yaml")
    assert finds_nothing(run, fleet.path)
    assert "3 removed" in run("render", fleet.path)


def test_without_git_nothing_is_expected(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    shutil.copytree(fleet.path, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    (tmp_path / "plain" / EXTRA).unlink()
    assert "3 removed" in run("render", tmp_path / "plain")


def test_a_folder_that_git_ignores_in_another_repository(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    (fleet.path / ".gitignore").write_text("scratch/\n")
    shutil.copytree(
        fleet.path, fleet.path / "scratch/copy", ignore=shutil.ignore_patterns(".git", "scratch")
    )
    (fleet.path / "scratch/copy" / EXTRA).unlink()
    assert "3 removed" in run("render", fleet.path / "scratch/copy")


def test_files_that_are_no_sources_may_be_absent(fleet: GitFleet, run: Run) -> None:
    for name in (
        "clusters/README.md",
        "clusters/.hidden.yaml",
        "clusters/.cache/x.yaml",
        "docs/x.yaml",
    ):
        (fleet.path / name).parent.mkdir(exist_ok=True)
        (fleet.path / name).write_text("a: 1\n")
    fleet.commit("others")
    for name in (
        "clusters/README.md",
        "clusters/.hidden.yaml",
        "clusters/.cache/x.yaml",
        "docs/x.yaml",
    ):
        (fleet.path / name).unlink()
    assert finds_nothing(run, fleet.path)


def test_a_commit_of_everything_whose_hook_asks(fleet: GitFleet) -> None:
    """`git commit -a` gives its hooks another index, which lacks the file already."""
    deleted(fleet)
    hook = fleet.top / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{shutil.which('env')} > {fleet.top.parent}/environment\n")
    hook.chmod(0o755)
    fleet.git("commit", "--quiet", "--all", "--message", "An extra cluster leaves")
    lines = (fleet.top.parent / "environment").read_text().splitlines()
    index = dict(line.partition("=")[::2] for line in lines)["GIT_INDEX_FILE"]
    assert index != ".git/index", "git gives the hook an index of its own"


def test_the_index_of_a_hook_counts(
    fleet: GitFleet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted(fleet)
    index = fleet.top / ".git/next-index-1.lock"
    shutil.copy(fleet.top / ".git/index", index)
    output_of(
        "git",
        "rm",
        "--quiet",
        EXTRA,
        cwd=fleet.top,
        environ={**os.environ, "GIT_INDEX_FILE": str(index)},
    )
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    monkeypatch.chdir(fleet.top)
    assert finds_nothing(run)
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index-1.lock")
    assert finds_nothing(run)
    monkeypatch.setenv("GIT_INDEX_FILE", "../elsewhere/.git/index")
    assert "DSF035" in run("validate", code=1)


@pytest.fixture
def team(fleet: GitFleet, tmp_path: Path) -> GitFleet:
    """The repository of the submodule clusters/team, which is filled."""

    def make(folder: Path) -> None:
        team = GitFleet.at(folder / "team")
        team.path.mkdir()
        team.git("init", "--quiet", "--initial-branch=main")
        team.write("eu/one.yaml", cluster("one", "eu"))
        team.write("two.yaml", cluster("two", "us"))
        team.commit("team")
        with_team = GitFleet.at(folder / "fleet")
        shutil.copytree(fleet.top, with_team.top)
        with_team.git("submodule", "--quiet", "add", "../team", "clusters/team")
        Run()("render", with_team.path)
        with_team.commit("with a team")

    copied(tmp_path, key="a fleet with a team", make=make)
    # The clone of the submodule knows the folder of the team by its whole path.
    fleet.git("submodule", "--quiet", "sync")
    return GitFleet.at(tmp_path / "team")


def clone(fleet: GitFleet, target: Path, *words: str) -> Path:
    fleet.git("clone", "--quiet", *words, fleet.top.as_uri(), str(target))
    output_of("git", "config", "protocol.file.allow", "always", cwd=target)
    return target


def test_a_submodule_that_is_filled(
    fleet: GitFleet, team: GitFleet, tmp_path: Path, run: Run
) -> None:
    there = clone(fleet, tmp_path / "clone", "--recurse-submodules")
    for where in (fleet.path, there):
        assert finds_nothing(run, where)
        assert run("render", where, "--check") == ""


def test_a_submodule_that_is_not_filled(
    fleet: GitFleet, team: GitFleet, tmp_path: Path, run: Run
) -> None:
    there = clone(fleet, tmp_path / "clone")
    out = run("validate", there, code=1)
    assert "clusters/team:1:1: error DSF035" in out
    assert "submodules: recursive" in out
    run("render", there, "--allow-shrink", code=1)
    git_file_protocol = f"GIT_ALLOW_PROTOCOL=file {hinted(out)[0]}"
    shell(git_file_protocol, cwd=tmp_path)
    assert finds_nothing(run, there)


def test_a_submodule_in_which_a_file_is_absent(fleet: GitFleet, team: GitFleet, run: Run) -> None:
    (fleet.path / "clusters/team/eu/one.yaml").unlink()
    out = run("validate", fleet.path, code=1)
    assert "clusters/team/eu/one.yaml:1:1: error DSF035" in out
    shell(hinted(out)[0], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)


def test_a_submodule_of_an_older_commit(fleet: GitFleet, team: GitFleet, run: Run) -> None:
    """After `git pull` without --recurse-submodules the folder is what it was."""
    team.write("three.yaml", cluster("three", "us"))
    team.commit("three")
    fleet.git("-C", "clusters/team", "pull", "--quiet")
    newer = fleet.commit("three more")
    assert newer
    fleet.git("-C", "clusters/team", "checkout", "--quiet", "HEAD~1")
    out = run("validate", fleet.path, code=1)
    assert "clusters/team/three.yaml:1:1: error DSF035" in out
    shell(hinted(out)[0], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)


def test_a_submodule_whose_newer_commit_has_fewer_files(
    fleet: GitFleet, team: GitFleet, run: Run
) -> None:
    """The step to it is staged, as the removal of a file is."""
    (team.path / "two.yaml").unlink()
    team.commit("two leaves")
    fleet.git("-C", "clusters/team", "pull", "--quiet")
    out = run("validate", fleet.path, code=1)
    assert "clusters/team/two.yaml:1:1: error DSF035" in out
    shell(hinted(out)[-1], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)
    assert "3 removed" in run("render", fleet.path)


def test_a_submodule_with_a_submodule(
    fleet: GitFleet, team: GitFleet, tmp_path: Path, run: Run
) -> None:
    inner = GitFleet(tmp_path / "inner")
    shutil.rmtree(inner.path)
    inner.path.mkdir()
    inner.git("init", "--quiet", "--initial-branch=main")
    inner.write("deep.yaml", cluster("deep", "us"))
    inner.commit("inner")
    team.git("submodule", "--quiet", "add", inner.top.as_uri(), "deeper")
    team.commit("deeper")
    fleet.git("-C", "clusters/team", "pull", "--quiet")
    fleet.commit("deeper")
    fleet.git("submodule", "--quiet", "update", "--init", "--recursive")
    assert finds_nothing(run, fleet.path)
    fleet.git("-C", "clusters/team", "submodule", "--quiet", "deinit", "--force", "deeper")
    assert "clusters/team/deeper:1:1: error DSF035" in run("validate", fleet.path, code=1)


def test_a_clone_in_a_clone_that_is_no_submodule(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """`git add` of a nested clone records a commit, and no other clone can have the files."""
    nested = fleet.path / "clusters/nested"
    nested.mkdir()
    for words in (
        ("init", "--quiet"),
        ("add", "one.yaml"),
        ("commit", "--quiet", "--message", "one"),
    ):
        if words[0] == "add":
            (nested / "one.yaml").write_text(yamlfast.dump(cluster("one", "eu")))
        output_of("git", *words, cwd=nested)
    fleet.commit("by accident")
    there = clone(fleet, tmp_path / "clone")
    out = run("validate", there, code=1)
    assert "clusters/nested:1:1: error DSF035" in out
    assert "rm --cached clusters/nested`" in out
    assert "submodule update" not in out


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 120\n"


def attributes(fleet: GitFleet, *lines: str) -> None:
    (fleet.top / ".gitattributes").write_text("".join(f"{line}\n" for line in lines))


def test_a_pointer_of_git_lfs_is_no_source(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """Where git-lfs is not installed, and in a copy that has no git, too."""
    (fleet.path / EXTRA).write_text(POINTER)
    shutil.copytree(fleet.path, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    for where in (fleet.path, tmp_path / "plain"):
        out = run("validate", where, code=1)
        assert f"{EXTRA}:1:1: error DSF037: this is a pointer of Git LFS, and not the file" in out
        run("render", where, "--allow-shrink", code=1)


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("filter=lfs", "filter=lfs"),
        ("filter=secrets", "filter=secrets"),
        ("working-tree-encoding=UTF-16LE", "working-tree-encoding=UTF-16LE"),
        ("ident", "ident"),
    ],
)
def test_an_attribute_that_changes_what_is_read(
    fleet: GitFleet, run: Run, attribute: str, said: str
) -> None:
    """Such a file has another content in every other clone, and in git itself."""
    (fleet.path / EXTRA).write_text("# $Id$\n" + (fleet.path / EXTRA).read_text())
    fleet.commit("with an id")
    attributes(fleet, f"{EXTRA} {attribute}")
    out = run("validate", fleet.path, code=1)
    assert (
        f"{EXTRA}:1:1: error DSF037: git has another content of this file: its attributes"
        f" say {said}"
    ) in out
    attributes(fleet)
    shell(hinted(out)[-1], cwd=fleet.path.parent)
    assert finds_nothing(run, fleet.path)


def test_attributes_that_change_nothing_that_is_read(fleet: GitFleet, run: Run) -> None:
    """Line breaks are alike to YAML, and `git archive` is not used."""
    attributes(
        fleet,
        "* text=auto eol=lf",
        "clusters/*.yaml eol=crlf ident working-tree-encoding=UTF-8 -filter",
        "scorers/*.yaml export-ignore",
        "apps/*.yaml export-subst !filter",
        "*.md filter=lfs",
    )
    (fleet.path / EXTRA).write_bytes((fleet.path / EXTRA).read_bytes().replace(b"\n", b"\r\n"))
    fleet.commit("attributes")
    assert finds_nothing(run, fleet.path)
    assert run("render", fleet.path, "--check") == ""


def test_attributes_of_a_submodule_are_its_own(fleet: GitFleet, team: GitFleet, run: Run) -> None:
    attributes(fleet, "*.yaml ident", "clusters/team/** filter=lfs")
    assert finds_nothing(run, fleet.path)
    attributes(team, "*.yaml filter=lfs")
    team.commit("pointers")
    fleet.git("-C", "clusters/team", "pull", "--quiet")
    fleet.commit("pointers")
    out = run("validate", fleet.path, code=1)
    assert "clusters/team/eu/one.yaml:1:1: error DSF037" in out
    assert "clusters/team/two.yaml:1:1: error DSF037" in out


def test_a_repository_that_git_does_not_read(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """A folder of a work tree in a container without the rest of its repository.

    It is only a warning: a folder without any git is fine, too.
    """
    shutil.copytree(fleet.path, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    (tmp_path / "copy/.git").write_text("gitdir: /nonexistent/worktrees/copy\n")
    out = run("validate", tmp_path / "copy")
    assert "gitops-dsf.yaml:1:1: warning DSF036: git cannot list its files" in out
    assert "not a git repository: /nonexistent/worktrees/copy" in out


def test_where_git_is_not_installed(
    fleet: GitFleet, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    shutil.copytree(fleet.path, tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    monkeypatch.setenv("PATH", str(tmp_path / "plain"))
    out = run("validate", fleet.path)
    assert "warning DSF036: git cannot list its files" in out
    assert "git is not installed or not on PATH" in out
    assert finds_nothing(run, tmp_path / "copy")


def test_a_folder_of_somebody_else(
    fleet: GitFleet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git refuses folders of others, as in containers, and says what to do."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    out = run("validate", fleet.path)
    assert "warning DSF036: git cannot list its files" in out
    assert f"run `git config --global --add safe.directory {fleet.path}`" in out
