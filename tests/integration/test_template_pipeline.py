"""`ci publish` against real git, races included.

The workflow files of a new repository call nothing that is not there.
"""

import os
import subprocess
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from gitops_dsf import pipeline
from gitops_dsf.ci.publish import HELPER
from gitops_dsf.cli.scaffold import scaffold
from gitops_dsf.render import tree
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.kept import copied

SOURCES = "main"
RENDERED = "gitops-dsf-rendered"
CLUSTERS = "clusters/examples.yaml"
"""A set, and two clusters of it, each a document."""


class Fleet:
    """A bare origin, and a pipeline's clone of it."""

    def __init__(self, root: Path, *, folder: str = "") -> None:
        bare = root / "origin.git"
        clone = root / "clone"
        self.origin, self.clone = bare, clone
        self.path = clone / folder / "fleet" if folder else clone
        self.slept: list[float] = []
        """Seconds between the attempts, for which nobody really waits."""
        copied(root, key=("fleet of a pipeline", folder), make=partial(_begin, folder=folder))
        self.repository = GitRepository.copied(bare=bare, clone=clone)

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        return git(*arguments, folder=cwd or self.clone).strip()

    def commit(self, subject: str) -> None:
        self.repository.publish(message=subject)

    def edit(self, file: str, old: str, new: str, *, cwd: Path | None = None) -> None:
        path = (cwd or self.path) / file
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    def publish(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environ = variables or {"GITHUB_ACTIONS": "true", "GITHUB_REF_NAME": SOURCES}
        with mock.patch("gitops_dsf.cli.ci.time.sleep", self.slept.append):
            return gitops_dsf("ci", "publish", *words, cwd=self.path, environ=environ)

    def log(self, branch: str) -> list[str]:
        return self.git("log", "--format=%s", branch, cwd=self.origin).splitlines()

    def files(self, branch: str) -> set[str]:
        return set(self.git("ls-tree", "-r", "--name-only", branch, cwd=self.origin).splitlines())


def _begin(root: Path, *, folder: str) -> None:
    repository = GitRepository.create(url="", bare=root / "origin.git", clone=root / "clone")
    path = repository.clone / folder / "fleet" if folder else repository.clone
    scaffold(target=path, name="fleet")
    repository.publish(message="A fleet")
    repository.pack()


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def test_what_git_lacks_of_an_author_is_named(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)
    fleet.git("config", "user.name", "A Bot")
    done = fleet.publish()
    assert done.returncode == 0, done.stderr
    author = fleet.git("log", "-1", "--format=%an <%ae>", SOURCES, cwd=fleet.origin)
    assert author == "A Bot <gitops-dsf@users.noreply.invalid>"


def test_git_gets_the_push_token_from_its_variable() -> None:
    asked = output_of(
        *(
            "git",
            "-c",
            "credential.helper=",
            "-c",
            f"credential.helper={HELPER}",
            "credential",
            "fill",
        ),
        stdin="protocol=https\nhost=gitlab.test\n\n",
        environ={"PATH": os.environ["PATH"], "GITOPS_DSF_PUSH_TOKEN": "glpat-s3cret$x %s"},
    )
    assert asked.endswith("username=gitops-dsf\npassword=glpat-s3cret$x %s\n")


def branch_mode(fleet: Fleet) -> None:
    fleet.edit("gitops-dsf.yaml", "mode: Directory", "mode: Branch")
    fleet.commit("Render onto a branch")


def render_is_clean(fleet: Fleet, tmp_path: Path) -> bool:
    fresh = tmp_path / "fresh"
    fleet.git("clone", "--quiet", str(fleet.origin), str(fresh), cwd=tmp_path)
    return gitops_dsf("render", "--check", cwd=fresh).returncode == 0


def test_sources_are_checked_and_rendered_once(fleet: Fleet) -> None:
    """For a large fleet each takes seconds."""
    with (
        mock.patch("gitops_dsf.pipeline.check_loaded", wraps=pipeline.check_loaded) as checks,
        mock.patch("gitops_dsf.render.tree.render", wraps=tree.render) as renders,
    ):
        assert fleet.publish("--dry-run").returncode == 0
    assert (checks.call_count, renders.call_count) == (1, 1)


def test_a_push_that_loses_a_race_is_rendered_again_on_top(fleet: Fleet, tmp_path: Path) -> None:
    """Another merge lands between fetch and push: its change is neither overwritten nor left
    unrendered.
    """
    other = tmp_path / "other"
    fleet.git("clone", "--quiet", str(fleet.origin), str(other), cwd=tmp_path)
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90", cwd=other)
    fleet.git("commit", "--quiet", "--all", "--message", "Score less often", cwd=other)
    push = f"unset GIT_DIR; git -C {other} push --quiet origin HEAD:{SOURCES}"
    hook = fleet.repository.hook("pre-push", 'rm "$0"', push, of=f"{fleet.clone}/.git")
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    assert not hook.exists()
    rendering, *before = fleet.log(SOURCES)
    assert rendering.startswith("Render ")
    assert rendering.endswith("[skip ci]")
    assert before == ["Score less often", "A fleet", "Begin"]
    assert "interval: 90" in fleet.repository.read(
        "rendered/platform/dynamicscorer.cpu-headroom.yaml"
    )
    assert render_is_clean(fleet, tmp_path)


ADMIN = "kind: ClusterRoleBinding\n"


def test_a_foreign_file_on_the_rendered_branch_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    branch_mode(fleet)
    assert fleet.publish().returncode == 0
    other = tmp_path / "other"
    fleet.git("clone", "--quiet", "--branch", RENDERED, str(fleet.origin), str(other), cwd=tmp_path)
    (other / "rendered/platform/admin.yaml").write_text(ADMIN, "utf-8")
    fleet.git("add", "--all", cwd=other)
    fleet.git("commit", "--quiet", "--message", "Add an administrator", cwd=other)
    fleet.git("push", "--quiet", "origin", RENDERED, cwd=other)
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Score less often")
    done = fleet.publish()
    assert done.returncode == 1
    assert "rendered/platform/admin.yaml" in done.stdout
    assert fleet.log(RENDERED)[0] == "Add an administrator"


def test_branch_mode_writes_a_branch_of_its_own(fleet: Fleet) -> None:
    branch_mode(fleet)
    sources = fleet.log(SOURCES)
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    assert fleet.log(SOURCES) == sources
    assert {path.partition("/")[0] for path in fleet.files(RENDERED)} == {"rendered"}
    assert fleet.log(RENDERED)[1:] == [f"Begin {RENDERED}"]
    assert fleet.publish().returncode == 0
    assert len(fleet.log(RENDERED)) == 2
    clusters = fleet.path / CLUSTERS
    clusters.write_text(clusters.read_text("utf-8").rpartition("---\n")[0], "utf-8")
    fleet.commit("A cluster leaves")
    left = fleet.publish()
    # One of two works is more than 20 %: somebody has to say that it is meant.
    assert left.returncode == 1
    assert "--allow-shrink" in left.stderr
    assert len(fleet.log(RENDERED)) == 2


def test_the_branch_of_the_sources_is_never_rendered_onto(fleet: Fleet) -> None:
    branch_mode(fleet)
    fleet.edit("gitops-dsf.yaml", "    shards: 1", f"    branch: {SOURCES}\n    shards: 1")
    fleet.commit("A mistake")
    before = fleet.log(SOURCES)
    result = fleet.publish()
    assert result.returncode == 1
    assert before == fleet.log(SOURCES)


def test_a_push_that_is_not_allowed_ends_with_a_reason(fleet: Fleet) -> None:
    fleet.repository.hook("pre-receive", "echo protected >&2", "exit 1")
    result = fleet.publish()
    assert result.returncode == 1
    assert "is this pipeline allowed to push?" in result.stderr
    assert fleet.slept == [1, 2, 3, 4], "between five attempts, and not after the last one"
    assert fleet.log(SOURCES) == ["A fleet", "Begin"]


def test_the_callers_files_are_never_touched(fleet: Fleet) -> None:
    """On a laptop: unsaved work stays, and only the branch of the origin counts."""
    fleet.edit("README.md", "# fleet", "# my unsaved work")
    before = fleet.git("status", "--porcelain"), fleet.git("rev-parse", "HEAD")
    for words in (["--branch", SOURCES, "--dry-run"], ["--branch", SOURCES]):
        result = fleet.publish(*words, GITHUB_ACTIONS="")
        assert result.returncode == 0, result.stderr
        assert (fleet.git("status", "--porcelain"), fleet.git("rev-parse", "HEAD")) == before
        published = len(fleet.log(SOURCES)) - 2
        assert published == ("--dry-run" not in words)
    assert fleet.git("worktree", "list").count("\n") == 0


def test_without_a_forge_the_branch_must_be_named(fleet: Fleet) -> None:
    result = fleet.publish(GITHUB_ACTIONS="")
    assert result.returncode == 2
    assert "name it with --branch" in result.stderr


def test_gitlab_pushes_with_the_token_that_may(fleet: Fleet, tmp_path: Path) -> None:
    """To the project's own URL: the job's clone has a token that may only read."""
    fleet.origin.rename(tmp_path / "fleet.git")
    fleet.origin.symlink_to(tmp_path / "fleet.git")
    variables = {
        "GITLAB_CI": "true",
        "CI_COMMIT_REF_PROTECTED": "true",
        "CI_COMMIT_BRANCH": SOURCES,
        "CI_SERVER_URL": f"file://{tmp_path.parent}",
        "CI_PROJECT_PATH": f"{tmp_path.name}/fleet",
        "GITOPS_DSF_PUSH_TOKEN": "glpat-secret",
    }
    trace = tmp_path / "trace"
    result = fleet.publish(**variables, GIT_TRACE=str(trace))
    assert result.returncode == 0, result.stdout + result.stderr
    assert fleet.log(SOURCES)[0].startswith("Render ")
    commands = trace.read_text("utf-8")
    assert f"push --quiet file://{tmp_path}/fleet.git" in commands
    assert "glpat" not in commands + result.stdout + result.stderr


@pytest.mark.parametrize("mode", ["Directory", "Branch"])
def test_a_fleet_in_a_folder_of_a_larger_repository(tmp_path: Path, mode: str) -> None:
    fleet = Fleet(tmp_path, folder="platform")
    fleet.edit("gitops-dsf.yaml", "mode: Directory", f"mode: {mode}")
    fleet.commit("Say where")
    result = fleet.publish()
    assert result.returncode == 0, result.stderr
    branch = RENDERED if mode == "Branch" else SOURCES
    application = yamlfast.load(
        fleet.repository.read(
            "platform/fleet/rendered/argocd/application.gitops-dsf-platform.yaml", branch=branch
        )
    )
    source = application["spec"]["source"]
    assert source["targetRevision"] == branch
    assert any(path.startswith(f"{source['path']}/") for path in fleet.files(branch))


def with_team(fleet: Fleet, tmp_path: Path) -> None:
    """Two more clusters, in a submodule that the clone has filled."""
    team = tmp_path / "team"
    team.mkdir()
    fleet.git("init", "--quiet", "--initial-branch=main", cwd=team)
    text = (fleet.path / CLUSTERS).read_text("utf-8").rpartition("---\n")[2]
    for name in ("team-1", "team-2"):
        (team / f"{name}.yaml").write_text(text.replace("eu-west-1", name), "utf-8")
    fleet.git("add", "--all", cwd=team)
    fleet.git("commit", "--quiet", "--message", "A team", cwd=team)
    allow = ("-c", "protocol.file.allow=always")
    fleet.git(*allow, "submodule", "--quiet", "add", team.as_uri(), "clusters/team", cwd=fleet.path)
    assert gitops_dsf("render", cwd=fleet.path).returncode == 0
    fleet.commit("A team's clusters")


@pytest.mark.parametrize("mode", ["Directory", "Branch"])
def test_clusters_in_a_submodule_are_published_and_never_removed(
    fleet: Fleet, tmp_path: Path, mode: str
) -> None:
    """The clone of the pipeline has the submodule. A work tree of git has not."""
    fleet.edit("gitops-dsf.yaml", "mode: Directory", f"mode: {mode}")
    with_team(fleet, tmp_path)
    branch = RENDERED if mode == "Branch" else SOURCES
    done = fleet.publish()
    assert done.returncode == 0, done.stdout + done.stderr
    works = [path for path in fleet.files(branch) if "team-1" in path or "team-2" in path]
    assert len(works) == 6, works
    if mode == "Directory":
        assert "rendered/ on main is up to date" in done.stdout
        assert fleet.log(SOURCES)[0] == "A team's clusters"


@pytest.mark.parametrize("mode", ["Directory", "Branch"])
def test_a_clone_without_the_submodule_publishes_nothing(
    fleet: Fleet, tmp_path: Path, mode: str
) -> None:
    fleet.edit("gitops-dsf.yaml", "mode: Directory", f"mode: {mode}")
    with_team(fleet, tmp_path)
    before = fleet.log(SOURCES)
    plain = tmp_path / "plain"
    fleet.git("clone", "--quiet", str(fleet.origin), str(plain), cwd=tmp_path)
    fleet.path = plain
    done = fleet.publish()
    assert done.returncode == 1
    assert "clusters/team:1:1: error DSF035: git has a submodule here" in done.stdout + done.stderr
    assert "`submodules: recursive`" in done.stdout + done.stderr
    assert fleet.log(SOURCES) == before
    assert RENDERED not in fleet.git("branch", "--list", cwd=fleet.origin)


def test_a_sparse_clone_publishes_what_the_branch_has(fleet: Fleet, tmp_path: Path) -> None:
    """Sources are read from git's objects, whatever is checked out."""
    assert fleet.publish().returncode == 0
    sparse = tmp_path / "sparse"
    fleet.git("clone", "--quiet", "--sparse", str(fleet.origin), str(sparse), cwd=tmp_path)
    assert not (sparse / "clusters").exists()
    fleet.path = sparse
    done = fleet.publish()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rendered/ on main is up to date" in done.stdout
    assert len(fleet.log(SOURCES)) == 3


def test_pointers_of_git_lfs_are_not_published(fleet: Fleet) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 120\n"
    (fleet.path / CLUSTERS).write_text(pointer, "utf-8")
    fleet.commit("Into LFS")
    done = fleet.publish()
    assert done.returncode == 1
    assert f"{CLUSTERS}:1:1: error DSF037" in done.stdout + done.stderr
    assert fleet.log(SOURCES)[0] == "Into LFS"


def test_a_rendered_tree_behind_a_link_is_not_written(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (fleet.path / "rendered").symlink_to(tmp_path / "elsewhere")
    fleet.commit("A link")
    done = fleet.publish()
    assert done.returncode == 1
    assert "rendered" in done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_messages_name_rendered_files_as_the_branch_does(fleet: Fleet) -> None:
    (fleet.path / "rendered/platform").mkdir(parents=True)
    (fleet.path / "rendered/platform/admin.yaml").write_text(ADMIN, "utf-8")
    fleet.commit("An administrator")
    done = fleet.publish()
    assert done.returncode == 1
    assert "\nforeign: rendered/platform/admin.yaml\n" in done.stdout


def test_a_full_clone_stays_full(fleet: Fleet, tmp_path: Path) -> None:
    branch_mode(fleet)
    assert fleet.publish().returncode == 0
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Score less often")
    assert fleet.publish().returncode == 0
    full = tmp_path / "full"
    fleet.git("clone", "--quiet", f"file://{fleet.origin}", str(full), cwd=tmp_path)
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 90", "interval: 120")
    fleet.commit("Score rarely")
    fleet.path = full
    for published, words in enumerate((["--dry-run"], [])):
        done = fleet.publish(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        assert fleet.git("rev-parse", "--is-shallow-repository", cwd=full) == "false"
        log = fleet.git("log", "--format=%s", f"origin/{RENDERED}", cwd=full)
        assert log.count("\n") == 2 + published


def test_a_shallow_clone_fetches_one_commit_of_the_rendered_branch(
    fleet: Fleet, tmp_path: Path
) -> None:
    branch_mode(fleet)
    assert fleet.publish().returncode == 0
    fleet.edit("scorers/cpu-headroom.yaml", "interval: 60", "interval: 90")
    fleet.commit("Score less often")
    shallow = tmp_path / "shallow"
    fleet.git("clone", "--quiet", "--depth=1", f"file://{fleet.origin}", str(shallow), cwd=tmp_path)
    fleet.path = shallow
    done = fleet.publish()
    assert done.returncode == 0, done.stdout + done.stderr
    assert fleet.log(RENDERED)[1:] == fleet.log(f"{RENDERED}~1")
    assert fleet.git("log", "--format=%s", "FETCH_HEAD", cwd=shallow).count("\n") == 0
