"""Which base is compared with, and that it is read from git objects alone."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.preview.gitfleet import GitFleet, Run, application, cluster, scorer
from tests.support.commandline import output_of
from tests.support.pages import ROOT


def clone(origin: Path, target: Path, *arguments: str) -> None:
    output_of("git", "clone", "--quiet", *arguments, origin.as_uri(), target)


def state_of(fleet: GitFleet) -> tuple[str, ...]:
    """Everything a preview could disturb."""
    asked = (
        "rev-parse HEAD",
        "symbolic-ref HEAD",
        "for-each-ref",
        "status --porcelain",
        "stash list",
    )
    return tuple(fleet.git(*each.split()) for each in (*asked, "diff", "diff --cached"))


def test_a_dirty_tree_is_the_head_and_stays_as_it_is(
    fleet: GitFleet, scores: Path, run: Run
) -> None:
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="min(up)"))
    fleet.git("add", "scorers/cpu.yaml")
    fleet.write("scorers/cpu.yaml", scorer("cpu", query="max(up)"))  # staged once, edited again
    fleet.write("scorers/untracked.yaml", scorer("untracked"))
    before = state_of(fleet)
    found = run.compared(fleet, "--scores", scores, base="HEAD")["scorers"]
    assert [(item["name"], item["change"]) for item in found] == [
        ("cpu", "changed"),
        ("untracked", "added"),
    ]
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


def test_a_head_without_a_fleet_is_refused_before_scores_are_read(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.git("checkout", "--quiet", "--orphan", "empty")
    fleet.git("rm", "-r", "--quiet", "--cached", ".")
    fleet.git("commit", "--quiet", "--allow-empty", "--message", "nothing")
    fleet.git("checkout", "--quiet", "--force", "main")
    unreadable = ("--base", "main", "--scores", tmp_path / "nowhere")
    run("diff", fleet.path, *unreadable, "--head", "empty", code=2)
    assert "empty has no fleet repository in this folder" in run.err
    run("diff", fleet.path, *unreadable, "--head", "main", code=1)
    assert f"{tmp_path / 'nowhere'}" in run.err


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


def hinted(text: str) -> str:
    """The command that a message prints."""
    return text.split("`")[1]


def shell(command: str, *, cwd: Path) -> None:
    output_of("bash", "-e", "-c", command, cwd=cwd)


@pytest.mark.parametrize("revision", ["origin/main", "main", "COMMIT"])
def test_a_shallow_clone_says_how_to_get_the_base(
    fleet: GitFleet, tmp_path: Path, run: Run, revision: str
) -> None:
    """The command that is printed is the last one that is needed."""
    fleet.git("checkout", "--quiet", "-b", "feature")
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("feature")
    fleet.git("checkout", "--quiet", "main")
    fleet.write("apps/second.yaml", application("second"))
    base = fleet.commit("main goes on").replace("COMMIT", "")
    there = tmp_path / "shallow"
    clone(fleet.top, there, "--depth=1", "--branch=feature")
    revision = revision.replace("COMMIT", base)
    assert run("diff", there, "--base", revision, code=1) == ""
    assert f"the revision {revision} is not in this clone, which is shallow" in run.err
    assert "fetch-depth: 0" in run.err
    shell(hinted(run.err), cwd=tmp_path)
    if revision == "main":
        assert ", and name origin/main, or" in run.err
        revision = "origin/main"
    found = run.json("diff", there, "--base", revision)
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["net"]
    assert found["comparison"]["placements"] == []


def test_a_shallow_clone_that_lacks_the_merge_base_blames_nobody(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """`git merge-base` answers with an older commit where history is cut.

    X branches off A; B adds a cluster; main merges X; P is on B. With three commits of each, main
    reaches A by X, and B by nothing.
    """
    fleet.git("checkout", "--quiet", "-b", "x")
    fleet.write("apps/x.yaml", application("x"))
    fleet.commit("X")
    fleet.git("checkout", "--quiet", "main")
    fleet.write("clusters/b.yaml", cluster("b", "eu"))
    fleet.commit("B")
    fleet.git("branch", "p")
    for name in ("m1", "m2"):
        fleet.write(f"apps/{name}.yaml", application(name))
        fleet.commit(name)
    fleet.git("merge", "--quiet", "--no-edit", "x")
    fleet.git("checkout", "--quiet", "p")
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("P")
    there = tmp_path / "shallow"
    clone(fleet.top, there, "--depth=3", "--branch=p")
    main = "main:refs/remotes/origin/main"
    output_of("git", "fetch", "--quiet", "--depth=3", "origin", main, cwd=there)
    cut = output_of("git", "merge-base", "origin/main", "HEAD", cwd=there).strip()
    assert cut == fleet.git("rev-parse", "main^2^"), "git finds A"
    run("diff", there, "--base", "origin/main", code=1)
    assert (
        "this clone is shallow, and may lack the commit where origin/main and HEAD part" in run.err
    )
    shell(hinted(run.err), cwd=tmp_path)
    found = run.json("diff", there, "--base", "origin/main")
    assert found["notes"] == [
        f"compared with the merge base {fleet.git('rev-parse', 'p^')[:10]} of origin/main and HEAD"
    ]
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["net"]
    assert found["comparison"]["summary"]["clusters"]["joined"] == []


def test_a_shallow_clone_with_no_common_commit_blames_nobody(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.git("checkout", "--quiet", "-b", "feature")
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("feature")
    fleet.git("checkout", "--quiet", "main")
    fleet.write("apps/second.yaml", application("second"))
    fleet.commit("main goes on")
    there = tmp_path / "shallow"
    clone(fleet.top, there, "--depth=1", "--no-single-branch", "--branch=feature")
    run("diff", there, "--base", "origin/main", code=1)
    assert "this clone is shallow" in run.err
    shell(hinted(run.err), cwd=tmp_path)
    assert run.json("diff", there, "--base", "origin/main")["comparison"]["placements"] == []


def test_a_shallow_clone_with_the_merge_base_is_enough(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    """What is cut off before it can hold no newer one."""
    for number in range(3):
        fleet.write("apps/second.yaml", application("second", count=number + 1))
        fleet.commit(f"before {number}")
    fleet.git("checkout", "--quiet", "-b", "feature")
    fleet.write("scorers/net.yaml", scorer("net"))
    fleet.commit("feature")
    fleet.git("checkout", "--quiet", "main")
    fleet.write("apps/third.yaml", application("third"))
    fleet.commit("main goes on")
    there = tmp_path / "shallow"
    clone(fleet.top, there, "--depth=3", "--no-single-branch", "--branch=feature")
    found = run.json("diff", there, "--base", "origin/main")
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["net"]
    assert found["comparison"]["placements"] == []
    # The base is an ancestor: whatever lies before it does not matter.
    clone(fleet.top, tmp_path / "two", "--depth=2", "--branch=feature")
    found = run.json("diff", tmp_path / "two", "--base", "HEAD~1")
    assert [item["name"] for item in found["comparison"]["scorers"]] == ["net"]


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
    assert [(item["name"], item["change"]) for item in new["comparison"]["scorers"]] == [
        ("cpu", "added")
    ]


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


def errors(
    run: Run, fleet: Path, *, code: int = 0
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What is wrong with the base and with the head."""
    found = run.json("diff", fleet, "--base", "main", code=code)
    return found["baseErrors"], found["headErrors"]


def test_a_submodule_that_lacks_the_commit_of_the_base(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
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
    (fleet.path / ".gitattributes").write_text(
        "clusters/more.yaml export-ignore\n*.yaml export-subst\n"
    )
    run("render", fleet.path)
    fleet.commit("with attributes")
    found = run.json("diff", fleet.path, "--base", "main", "--exit-code")
    assert (found["differs"], found["baseErrors"], found["foreignFiles"]) == (False, [], [])
    fleet.git("rm", "--quiet", "clusters/more.yaml", "scorers/net.yaml")
    summary = run.compared(fleet)["summary"]
    assert summary["clusters"]["left"] == ["more"]
    assert summary["works"] == {"added": 0, "removed": 1, "changed": 3, "total": 3}


@pytest.mark.parametrize(
    ("folder", "place", "attributes"),
    [
        ("", ".gitattributes", "cpu.yaml filter=lfs"),
        ("", "scorers/.gitattributes", "cpu.yaml filter=lfs\nfleet.yaml eol=crlf ident"),
        ("platform/fleet", ".gitattributes", "[attr]large filter=lfs\ncpu.yaml large"),
    ],
)
def test_attributes_that_change_what_is_read_are_found_in_the_base(
    tmp_path: Path, run: Run, folder: str, place: str, attributes: str
) -> None:
    """The change that takes them away can be merged."""
    fleet = GitFleet(tmp_path / "repository", folder=folder)
    (fleet.top / place).write_text(f"{attributes}\n")
    fleet.commit("with a filter")
    fleet.git("rm", "--quiet", place)
    [finding], head = errors(run, fleet.path)
    assert (finding["file"], finding["code"], head) == ("scorers/cpu.yaml", "DSF037", [])


def test_attributes_of_a_machine_change_no_revision(fleet: GitFleet, run: Run) -> None:
    """They change what is added to git, and not what git has."""
    info = fleet.top / ".git/info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("cpu.yaml filter=secrets\n")
    base, [finding] = errors(run, fleet.path, code=1)
    assert (finding["file"], finding["code"], base) == ("scorers/cpu.yaml", "DSF037", [])


def test_a_preview_starts_few_processes(
    fleet: GitFleet, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes milliseconds, and on Windows ten times as many."""
    # As `init` writes it. None of its attributes changes what is read.
    shutil.copy(ROOT / "repo-template/.gitattributes", fleet.path)
    fleet.commit("with attributes")
    started: list[str] = []
    begin = subprocess.Popen.__init__

    def counted(self: Any, words: Sequence[str], *more: Any, **how: Any) -> None:
        started.append(next(word for word in words[3:] if not word.startswith("-")))
        begin(self, words, *more, **how)

    monkeypatch.setattr(subprocess.Popen, "__init__", counted)
    run("diff", fleet.path, "--base", "main")
    of_the_base = ["cat-file"]
    of_the_working_tree = ["ls-files", "check-attr"]
    assert started == [*of_the_base, *of_the_working_tree]


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
        (
            "nowhere",
            (
                "run `git -C FLEET fetch origin nowhere:refs/remotes/origin/nowhere`, and"
                " name origin/nowhere"
            ),
        ),
        (
            "--upload-pack=x",
            "the revision --upload-pack=x is not in this clone; name a commit, branch or tag",
        ),
        ("released", "the revision released is not in this clone; did you mean origin/released?"),
        ("deadbeef", "run `git -C FLEET fetch origin`, or write all 40 digits of a commit"),
        ("0" * 40, f"run `git -C FLEET fetch origin {'0' * 40}`, or name a commit, branch or tag"),
        ("", "the revision to compare with is empty; name a commit, branch or tag"),
    ],
)
def test_a_base_that_is_not_there(fleet: GitFleet, run: Run, base: str, said: str) -> None:
    fleet.git("update-ref", "refs/remotes/origin/released", "HEAD")
    run("diff", fleet.path, f"--base={base}", code=1)
    assert said.replace("FLEET", str(fleet.path)) in run.err


def test_a_branch_that_a_full_clone_of_one_branch_lacks(
    fleet: GitFleet, tmp_path: Path, run: Run
) -> None:
    fleet.git("branch", "other")
    there = tmp_path / "clone"
    clone(fleet.top, there, "--single-branch")
    for name in ("other", "origin/other"):
        run("diff", there, "--base", name, code=1)
    shell(hinted(run.err), cwd=tmp_path)
    assert run.json("diff", there, "--base", "origin/other")["differs"] is False


def test_outside_of_a_git_repository(fleet: GitFleet, tmp_path: Path, run: Run) -> None:
    shutil.copytree(fleet.path, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    run("diff", tmp_path / "plain", "--base", "main", code=1)
    assert "not a git repository" in run.err
    assert "name the folder of the fleet repository in its clone" in run.err
    run("diff", tmp_path / "missing", "--base", "main", code=2)
    assert "is not a folder" in run.err
