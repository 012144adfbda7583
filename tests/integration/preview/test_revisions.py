"""Which base is compared with, and that it is read from git objects alone."""

import shutil
from pathlib import Path

import pytest
import yaml

from tests.integration.preview.gitfleet import GitFleet, Run, application, cluster, scorer
from tests.support.commandline import output_of


def clone(origin: Path, target: Path, *arguments: str) -> None:
    output_of("git", "clone", "--quiet", *arguments, origin.as_uri(), target)


def state_of(fleet: GitFleet) -> tuple[str, ...]:
    """Everything a preview could disturb."""
    asked = ("rev-parse HEAD", "symbolic-ref HEAD", "for-each-ref", "status --porcelain", "stash list")
    return tuple(fleet.git(*each.split()) for each in (*asked, "diff", "diff --cached"))


def test_a_dirty_tree_is_the_head_and_stays_as_it_is(fleet: GitFleet, scores: Path, run: Run) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="min(up)"))
    fleet.git("add", "scorers/cpu.yaml")
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))  # staged once, edited again
    fleet.write("scorers/untracked.yaml", scorer("untracked"))
    before = state_of(fleet)
    found = run.compared(fleet, "--scores", scores, base="HEAD")["scorers"]
    assert [(item["name"], item["change"]) for item in found] == [("cpu", "changed"), ("untracked", "added")]
    assert found[0]["fields"][0]["after"] == "max(up)"
    assert state_of(fleet) == before


def test_a_head_revision_in_place_of_the_working_tree(fleet: GitFleet, run: Run) -> None:
    fleet.git("checkout", "--quiet", "-b", "feature")
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    fleet.commit("edit")
    fleet.git("checkout", "--quiet", "main")
    found = run.json("diff", fleet.path, "--base", "main", "--head", "feature")
    assert (found["head"], len(found["comparison"]["scorers"])) == ("feature", 1)
    run("diff", fleet.path, "--base", "main", "--head", "nowhere", code=2)
    assert "there is no revision nowhere" in run.err


def test_what_the_base_branch_did_meanwhile_is_not_this_change(fleet: GitFleet, run: Run) -> None:
    fleet.git("checkout", "--quiet", "-b", "feature")
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("feature")
    fleet.git("checkout", "--quiet", "main")
    fleet.write("apps/second.yaml", application("second"))
    ahead = fleet.commit("main goes on")
    fleet.git("checkout", "--quiet", "feature")
    found = run.json("diff", fleet.path, "--base", "main")
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["net"]
    assert found["comparison"]["placements"] == []
    assert "compared with the merge base" in found["notes"][0]

    fleet.git("merge", "--quiet", "--no-edit", "main")
    merged = run.json("diff", fleet.path, "--base", "main")
    assert merged["base"] == f"main ({ahead[:10]})"
    assert (merged["notes"], merged["comparison"]["placements"]) == ([], [])
    assert [item["name"] for item in merged["comparison"]["scorers"]] == ["net"]
    # As a pipeline checks out a pull request: the merge commit, detached, and the base by its id.
    fleet.git("checkout", "--quiet", "--detach")
    detached = run.compared(fleet, base=ahead)["scorers"]
    assert [item["name"] for item in detached] == ["net"]


def test_a_shallow_clone_says_how_to_get_the_base(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    first = fleet.git("rev-parse", "HEAD")
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    fleet.commit("edit")
    clone(fleet.top, tmp_path / "shallow", "--depth=1")
    assert run("diff", tmp_path / "shallow", "--base", first, code=1) == ""
    assert f"git fetch --depth=1 origin {first}" in run.err
    assert "fetch-depth: 0" in run.err


def test_a_side_that_does_not_validate_is_told(fleet: GitFleet, run: Run) -> None:
    """The head fails."""
    file = fleet.path / "scorers/cpu.yaml"
    good = file.read_text()
    file.write_text(good.replace("configSyncMode: None", "configSyncMode: Sometimes"))
    fleet.commit("broken")
    file.write_text(good)
    told = run.shown(fleet)
    assert "**The base does not validate**" in told
    assert "scorers/cpu.yaml:" in told
    assert run.compared(fleet, "--exit-code", code=1) is None
    file.write_text("kind: [\n")
    told = run("diff", fleet.path, "--base", "main", "-o", "markdown", code=1)
    assert told.startswith("<!-- gitops-dsf-preview -->\n")
    assert "**The head does not validate**" in told


def test_a_repository_in_a_subfolder(tmp_path: Path, run: Run) -> None:
    fleet = GitFleet(tmp_path / "mono", folder="fleets/emea")
    other = fleet.top / "fleets/apac/scorers"
    other.mkdir(parents=True)
    (other / "broken.yaml").write_text("not: [valid\n")
    fleet.commit("another fleet")
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    found = run.json("diff", fleet.path, "--base", "main")
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["cpu"]

    shutil.copytree(fleet.path, fleet.top / "fleets/new")
    new = run.json("diff", fleet.top / "fleets/new", "--base", "main")
    assert new["notes"] == ["the base has no fleet repository in this folder: everything is new"]
    assert [(item["name"], item["change"]) for item in new["comparison"]["scorers"]] == [("cpu", "added")]


def test_sources_in_a_submodule_are_read_at_the_commit_of_the_base(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    team = GitFleet(tmp_path / "team")
    shutil.rmtree(team.path)
    team.path.mkdir()
    team.git("init", "--quiet", "--initial-branch=main")
    team.write("second.yaml", application("second"))
    team.commit("team")
    fleet.git("submodule", "--quiet", "add", team.top.as_uri(), "apps/team")
    fleet.commit("with a team")
    team.write("second.yaml", application("second", count=2))
    team.commit("two clusters")
    fleet.git("-C", "apps/team", "pull", "--quiet")
    [change] = run.compared(fleet)["placements"]
    assert [(item["path"], item["before"], item["after"]) for item in change["fields"]] == [
        ("spec.numberOfClusters", 1, 2)
    ]

    clone(fleet.top, tmp_path / "clone")
    [base], [head] = errors(run, tmp_path / "clone", code=1)
    for finding in (base, head):
        assert (finding["file"], finding["code"]) == ("apps/team", "DSF035")
        assert "submodule update --init apps/team`" in finding["hint"]


def errors(run: Run, fleet: Path, *, code: int = 0) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What is wrong with the base and with the head."""
    found = run.json("diff", fleet, "--base", "main", code=code)
    return found["baseErrors"], found["headErrors"]


def test_a_submodule_that_lacks_the_commit_of_the_base(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    """Pipelines fetch only the newest commit of each submodule."""
    team = GitFleet(tmp_path / "team")
    shutil.rmtree(team.path)
    team.path.mkdir()
    team.git("init", "--quiet", "--initial-branch=main")
    team.write("second.yaml", application("second"))
    team.commit("team")
    fleet.git("submodule", "--quiet", "add", team.top.as_uri(), "apps/team")
    fleet.commit("with a team")
    fleet.git("checkout", "--quiet", "-b", "newer")
    team.write("second.yaml", application("second", count=2))
    team.commit("two clusters")
    fleet.git("-C", "apps/team", "pull", "--quiet")
    fleet.commit("newer")
    there = tmp_path / "clone"
    clone(fleet.top, there, "--branch", "newer")
    allow = ("-c", "protocol.file.allow=always")
    output_of("git", *allow, "submodule", "--quiet", "update", "--init", "--depth=1", cwd=there)
    output_of("git", "fetch", "--quiet", "origin", "main:main", cwd=there)
    [finding], [] = errors(run, there)
    assert (finding["file"], finding["code"]) == ("apps/team", "DSF035")
    command = finding["hint"].split("`")[1]
    assert "fetch origin" in command
    output_of("bash", "-c", command, cwd=tmp_path)
    assert errors(run, there) == ([], [])
    [change] = run.compared(fleet)["placements"]
    assert [item["path"] for item in change["fields"]] == ["spec.numberOfClusters"]


def test_attributes_of_archives_hide_nothing(fleet: GitFleet, run: Run) -> None:
    """`export-ignore` leaves files out of `git archive`, and `export-subst` changes them in it."""
    fleet.write("clusters/more.yaml", cluster("more", "eu"))
    fleet.write("scorers/net.yaml", scorer("net", description="$Format:%H$"))
    (fleet.path / ".gitattributes").write_text("clusters/more.yaml export-ignore\n*.yaml export-subst\n")
    run("render", fleet.path)
    fleet.commit("with attributes")
    found = run.json("diff", fleet.path, "--base", "main", "--exit-code")
    assert (found["differs"], found["baseErrors"], found["foreignFiles"]) == (False, [], [])
    fleet.git("rm", "--quiet", "clusters/more.yaml", "scorers/net.yaml")
    summary = run.compared(fleet)["summary"]
    assert summary["clusters"]["left"] == ["more"]
    assert summary["works"] == {"added": 0, "removed": 1, "changed": 3, "total": 3}


def test_attributes_that_change_what_is_read_are_found_in_the_base(fleet: GitFleet, run: Run) -> None:
    """The change that takes them away can be merged."""
    (fleet.path / ".gitattributes").write_text("scorers/*.yaml filter=lfs\nclusters/*.yaml eol=crlf ident\n")
    fleet.commit("with a filter")
    fleet.remove(".gitattributes")
    [finding], head = errors(run, fleet.path)
    assert (finding["file"], finding["code"], head) == ("scorers/cpu.yaml", "DSF037", [])


def test_what_the_base_has_twice_in_one_place(fleet: GitFleet, run: Run) -> None:
    """A folder of the fleet that is a file in the base, and the other way round."""
    fleet.git("rm", "--quiet", "-r", "scorers")
    (fleet.path / "scorers").write_text("a file\n")
    fleet.commit("a file")
    (fleet.path / "scorers").unlink()
    fleet.write("scorers/cpu.yaml", scorer("cpu"))
    base, head = errors(run, fleet.path)
    assert head == []
    assert base != []


def test_symbolic_links_inside_the_repository_are_followed_and_others_reported(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.write("shared/net.yaml", scorer("net"))
    (fleet.path / "scorers/net.yaml").symlink_to("../shared/net.yaml")
    fleet.commit("linked")
    assert run.json("diff", fleet.path, "--base", "main", "--exit-code")["differs"] is False
    (tmp_path / "secret.yaml").write_text(yaml.safe_dump(scorer("secret")))
    (fleet.path / "scorers/out.yaml").symlink_to("../../secret.yaml")
    fleet.commit("leads out")
    fleet.remove("scorers/out.yaml")
    assert "symbolic link" in run.shown(fleet)


def test_in_a_hook_of_git(fleet: GitFleet, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))
    monkeypatch.setenv("GIT_DIR", "/nonexistent/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    assert len(run.compared(fleet)["scorers"]) == 1


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("nowhere", "there is no revision nowhere in this clone; fetch it with `git fetch origin nowhere`"),
        ("--upload-pack=x", "there is no revision --upload-pack=x"),
        ("released", "did you mean origin/released?"),
        ("", "the revision to compare with is empty; name a commit, branch or tag"),
    ],
)
def test_a_base_that_is_not_there(fleet: GitFleet, run: Run, base: str, said: str) -> None:
    fleet.git("update-ref", "refs/remotes/origin/released", "HEAD")
    run("diff", fleet.path, f"--base={base}", code=1)
    assert said in run.err


def test_outside_of_a_git_repository(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    shutil.copytree(fleet.path, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    run("diff", tmp_path / "plain", "--base", "main", code=1)
    assert "not a git repository" in run.err
    assert "name the folder of the fleet repository in its clone" in run.err
    run("diff", tmp_path / "missing", "--base", "main", code=2)
    assert "is not a folder" in run.err
