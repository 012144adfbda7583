"""Pages that are walked as a reader does it.

README.md, CONTRIBUTING.md, docs/start/quickstart.md, docs/decisions/one-decision.md,
docs/decisions/backtest.md, docs/decisions/preview.md, docs/decisions/verified-moves.md and
docs/scores/your-own-api.md. Of docs/start/kind.md only what needs no control plane: the hub suite
walks it.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import dsf_scorer
from gitops_dsf.cli.scaffold import scaffold
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf
from tests.support.pages import ROOT, blocks, files_of_the_readme
from tests.support.repositories import BASE, IMAGES, checked_fleet, findings
from tests.support.scorer.projecttests import run_project_tests
from tests.support.scorer.serving import serving
from tests.support.walks import NEEDS_CONTAINERS, REST, commands, edit


def test_the_example_of_the_readme_works_as_printed(tmp_path: Path) -> None:
    """As a reader does it: the commands in order, each file at the path that stands above it."""
    text = (
        (ROOT / "README.md")
        .read_text("utf-8")
        .partition("## What you write")[2]
        .partition("\n## ")[0]
    )
    init, render = re.findall(r"^    gitops-dsf (.+)$", text, re.MULTILINE)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    assert gitops_dsf(*init.split(), cwd=checkout).returncode == 0
    fleet = tmp_path / "first-fleet"
    files = files_of_the_readme()
    assert list(files) == [
        "scorers/cpu-headroom.yaml",
        "apps/guestbook.yaml",
        "clusters/paris.yaml",
    ]
    for path, content in files.items():
        (fleet / path).write_text(content)  # into folders that are there
    done = gitops_dsf(render, cwd=fleet)
    assert done.returncode == 0, done.stderr
    (look,) = re.findall(r"^    cat (.+)$", text, re.MULTILINE)
    assert "resourceName: cpu-headroom" in (fleet / look).read_text()


def test_the_files_of_the_page_about_openshift_make_a_valid_fleet(tmp_path: Path) -> None:
    """docs/start/acm.md: its settings, its Placement with the binding, and its MetricSource."""
    fleet = tmp_path / "fleet"
    scaffold(target=fleet, name="fleet")
    settings, clusters, importer, source, delivery = (
        block.text for block in blocks(ROOT / "docs/start/acm.md") if block.language == "yaml"
    )
    argocd = settings.partition("  argocd:\n")[2]
    text = (fleet / "gitops-dsf.yaml").read_text("utf-8")
    assert "    namespace: argocd\n" in text
    text = text.replace("    namespace: argocd\n", argocd)
    text = text.replace("\nspec:\n", "\nspec:\n" + delivery.partition("spec:\n")[2], 1)
    (fleet / "gitops-dsf.yaml").write_text(text, encoding="utf-8")
    (fleet / "apps/argocd-clusters.yaml").write_text(clusters, encoding="utf-8")
    (fleet / "config").mkdir()
    (fleet / "config/sources.yaml").write_text(source, encoding="utf-8")
    done = gitops_dsf("validate", cwd=fleet)
    assert done.returncode == 0, done.stdout + done.stderr
    assert gitops_dsf("render", cwd=fleet).returncode == 0
    rendered = fleet / "rendered/delivery"
    placement = yamlfast.load(importer)["spec"]["placementRef"]["name"]
    assert f"name: {placement}\n" in (rendered / f"placement.{placement}.yaml").read_text("utf-8")
    assert not list((fleet / "rendered").rglob("customresourcedefinition.*"))


def test_scores_of_other_add_ons_rank_as_their_page_says(tmp_path: Path) -> None:
    """docs/scores/other-add-ons.md: its declaration and its application, in a fleet."""
    fleet = tmp_path / "fleet"
    scaffold(target=fleet, name="fleet", extras=("examples",))
    # The third piece is a part of an application, which tests/contract/test_docs.py reads.
    declaration, application, _ = (
        block.text
        for block in blocks(ROOT / "docs/scores/other-add-ons.md")
        if block.language == "yaml"
    )
    settings = fleet / "gitops-dsf.yaml"
    (external,) = re.findall(r"^  externalScores:\n(?:    .+\n)+", declaration, re.MULTILINE)
    settings.write_text(settings.read_text("utf-8").replace("spec:\n", f"spec:\n{external}", 1))
    (fleet / "apps/training.yaml").write_text(application, "utf-8")
    done = gitops_dsf("validate", cwd=fleet)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "training" not in done.stdout + done.stderr, "there is nothing to find about it"
    assert gitops_dsf("render", cwd=fleet).returncode == 0
    placement = yamlfast.load(
        (fleet / "rendered/delivery/placement.training.yaml").read_text("utf-8")
    )
    configurations = placement["spec"]["prioritizerPolicy"]["configurations"]
    assert [
        (configuration["scoreCoordinate"].get("addOn"), configuration["weight"])
        for configuration in configurations
    ] == [
        ({"resourceName": "resource-usage-score", "scoreName": "gpuClusterAvailable"}, 3),
        ({"resourceName": "cpu-headroom", "scoreName": "cpu-headroom"}, 2),
        (None, 1),
    ]


def test_many_scores_from_one_scorer_are_ranked_by_the_items_that_the_page_names(
    tmp_path: Path,
) -> None:
    """docs/scores/scorers.md: the scorer and the application of the page, in a fleet."""
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    page = (ROOT / "docs/scores/scorers.md").read_text("utf-8")
    section = page.partition("## Many scores from one scorer")[2].partition("\n## ")[0]
    for text in re.findall(r"^```yaml\n(.+?)^```$", section, re.MULTILINE | re.DOTALL):
        path = text.splitlines()[0].removeprefix("# ")
        (tmp_path / "fleet" / path).write_text(text, "utf-8")
    done = gitops_dsf("validate", cwd=tmp_path / "fleet")
    assert done.returncode == 0, done.stdout + done.stderr
    for path in ("scorers/latency.yaml", "apps/shop.yaml"):
        assert path not in done.stdout + done.stderr, "there is nothing to find about it"
    assert gitops_dsf("render", cwd=tmp_path / "fleet").returncode == 0
    placement = yamlfast.load(
        (tmp_path / "fleet/rendered/delivery/placement.shop.yaml").read_text("utf-8")
    )
    coordinates = [
        configuration["scoreCoordinate"].get("addOn")
        for configuration in placement["spec"]["prioritizerPolicy"]["configurations"]
    ]
    assert coordinates[:2] == [
        {"resourceName": "latency", "scoreName": name} for name in ("shop", "checkout")
    ]


def test_the_tutorial_shows_what_happens(tmp_path: Path, warm_programs: Path) -> None:
    """It ends with the move that it promises, and with tests that pass."""
    page = ROOT / "docs/start/quickstart.md"
    walk(page, tmp_path, warm_programs)
    *_, move, _, last, _ = blocks(page, "console")
    assert "1 application moves" in move.text
    assert last.text.endswith("1 test passed\n")


def test_the_page_of_one_decision_shows_what_the_commands_print(
    tmp_path: Path, warm_programs: Path
) -> None:
    walk(ROOT / "docs/decisions/one-decision.md", tmp_path, warm_programs)


def test_the_page_of_a_scoring_api_leads_to_one_that_agents_can_use(
    tmp_path: Path, warm_programs: Path
) -> None:
    """Its code passes its tests and the contract, and the fleet takes its scorer."""
    page = ROOT / "docs/scores/your-own-api.md"
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    new, pytest_session, check, validate = (
        commands(block.text) for block in blocks(page, "console")
    )
    (created, expected), _ = new
    shown(run(created, tmp_path, warm_programs), expected, created)
    project = tmp_path / "day-load"
    for block in blocks(page, "python"):
        (project / block.title).write_text(block.text, encoding="utf-8")
    ((_command, expected),) = pytest_session
    tests = run_project_tests(project, "-q", f"--rootdir={project}", programs=warm_programs)
    shown(tests.stdout.splitlines(), expected, "pytest -q")
    ((command, expected),) = check
    with serving("scorer:app", project, programs=warm_programs) as served:
        there = command.replace("http://127.0.0.1:8000", served.url)
        shown(run(f"{there} && echo usable", project, warm_programs), [*expected, "usable"], there)
    (scorer,) = (block for block in blocks(page, "yaml") if block.title)
    (tmp_path / "fleet" / scorer.title).write_text(scorer.text, encoding="utf-8")
    ((command, expected),) = validate
    checked = f"{command} && echo valid"
    shown(run(checked, tmp_path / "fleet", warm_programs), [*expected, "valid"], command)


def walk(page: Path, folder: Path, programs: Path) -> None:
    """Runs the commands of a page, writes its files and makes its edits, in the order of the
    page.
    """
    for block in blocks(page):
        if block.language == "console":
            for command, expected in commands(block.text):
                if command.startswith("cd "):
                    folder /= command.removeprefix("cd ")
                else:
                    shown(run(command, folder, programs), expected, command)
        elif block.language == "yaml":
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "diff":
            edit(folder / block.title, block.text)
        else:
            assert block.language in {"sh", ""}, (
                f"a {block.language} block is neither run nor written"
            )


def run(command: str, folder: Path, programs: Path) -> list[str]:
    environment = {
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONUNBUFFERED": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in {0, 1}, f"{command}\n{done.stdout}"
    return done.stdout.splitlines()


def shown(output: list[str], expected: list[str], command: str) -> None:
    pattern = "".join("(?:.*\n)*?" if line == REST else re.escape(f"{line}\n") for line in expected)
    text = "".join(f"{line}\n" for line in output)
    assert re.fullmatch(pattern, text), f"$ {command}\n{text}"


def test_the_example_of_the_backtest_runs_as_shown(tmp_path: Path) -> None:
    page = ROOT / "docs/decisions/backtest.md"
    (script,), (session,) = (blocks(page, language) for language in ("python", "console"))
    (line,) = re.findall(
        r"apps/guestbook.yaml:(\d+): spec.stickiness: 25 instead of 20", session.text
    )
    init, _, backtest, expected = session.text.split("\n", 3)
    ran = subprocess.run([sys.executable, "-c", script.text], capture_output=True, check=True)
    (tmp_path / "scores.json").write_bytes(ran.stdout)
    made = gitops_dsf(*shlex.split(init)[2:], cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    application = tmp_path / "fleet" / "apps" / "guestbook.yaml"
    before = application.read_text("utf-8").splitlines()
    done = gitops_dsf(*shlex.split(backtest)[2:], cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, expected)
    assert before[int(line) - 1].startswith("  stickiness: 20"), "the advice names the line"


PREVIEW = ROOT / "docs/decisions/preview.md"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    return tmp_path / "fleet"


def test_the_tests_of_the_preview_page_pass_and_fail_as_shown(fleet: Path) -> None:
    """tests/hub/test_promtool.py runs the one that needs promtool."""
    tests = [block.text for block in blocks(PREVIEW, "yaml") if block.text.startswith("# tests/")]
    tests = [text for text in tests if "metrics:" not in text]
    for text in tests:
        (fleet / text.split()[1]).write_text(text, encoding="utf-8")
    done = gitops_dsf("test", cwd=fleet)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{len(tests) + 1} tests passed\n")
    application = fleet / "apps" / "guestbook.yaml"
    application.write_text(
        application.read_text("utf-8").replace("stickiness: 20", "stickiness: 0"), "utf-8"
    )
    ((command, expected),) = commands(blocks(PREVIEW, "console")[0].text)
    done = gitops_dsf(*shlex.split(command)[1:], cwd=fleet)
    assert done.returncode == 1
    shown(done.stdout.splitlines(), expected, command)


def test_the_first_change_of_contributing_works() -> None:
    """The example's test fails on Series as it is, and passes on one with the example's
    property.
    """
    test, code = (block.text for block in blocks(ROOT / "CONTRIBUTING.md", "python"))
    scope: dict[str, Any] = {}
    exec(compile(test, "test_series.py", "exec"), scope)  # noqa: S102 - the document's own example
    (run,) = (item for name, item in scope.items() if name.startswith("test_"))
    with pytest.raises(AttributeError):
        run()
    body: dict[str, Any] = {"Series": dsf_scorer.Series}
    exec(f"class Longer(Series):\n{textwrap.indent(code, '    ')}", body)  # noqa: S102
    scope["Series"] = body["Longer"]
    run()


def test_the_fleet_of_verified_moves_has_no_findings_and_the_times_that_the_page_says() -> None:
    """Its scorer, its application and its settings are one fleet."""
    slo, shop, settings, acknowledged = (
        block.text for block in blocks(ROOT / "docs/decisions/verified-moves.md", "yaml")
    )
    ranker = BASE["scorers/s.yaml"].replace("{name: cpu}", "{name: cpu-forecast}")
    fleet = {
        "settings": settings.replace("spec:\n", f"spec:\n{_block(IMAGES)}", 1),
        "scorers": f"{slo}---\n{ranker}",
        "apps": shop,
    }
    assert findings(**fleet) == []
    [placement] = checked_fleet(**fleet).placements
    assert placement.paced is not None
    assert placement.paced.verification is not None
    [check] = placement.paced.verification.checks
    assert (check.delay, check.range) == (60 + 60, 300)
    head, _, rest = settings.partition("  pace:\n")
    paced_on = acknowledged.partition("  pace:\n")[2]
    later = f"{head}  pace:\n{paced_on}".replace("spec:\n", f"spec:\n{_block(IMAGES)}", 1)
    assert rest
    assert findings(**{**fleet, "settings": later}) == []


def _block(settings: str) -> str:
    """Settings in flow style, one a line."""
    return "".join(f"  {part}\n" for part in settings.removeprefix(", ").split(", "))


KIND = ROOT / "docs/start/kind.md"
FLAGS: dict[tuple[str, ...], frozenset[str]] = {
    ("kind", "create", "cluster"): frozenset({"--name", "--wait"}),
    ("kind", "get", "clusters"): frozenset(),
    ("kind", "load", "docker-image"): frozenset({"--name"}),
    ("kind", "delete", "cluster"): frozenset({"--name"}),
    ("clusteradm", "init"): frozenset({"--context", "--wait", "--output-join-command-file"}),
    ("clusteradm", "join"): frozenset({"--context", "--force-internal-endpoint-lookup"}),
    ("clusteradm", "accept"): frozenset({"--context", "--clusters", "--wait"}),
    ("docker", "build"): frozenset({"--quiet", "--file", "--target", "--tag"}),
    ("docker", "run"): frozenset({"--detach", "--name", "--network", "--publish", "--env"}),
    ("docker", "exec"): frozenset({"--user"}),
    ("docker", "rm"): frozenset({"--force"}),
}
"""Commands of the page that no test runs, with flags that they have: by the help of kind v0.33.0
and docker 28.2, and by the source of clusteradm v1.2.1 (pkg/cmd).
"""


def test_the_first_hour_names_only_flags_that_other_programs_have() -> None:
    """What needs containers is not run, so a shell only reads it, and its flags are compared."""
    lines = [line for block in blocks(KIND, "console") for line, _ in commands(block.text)]
    lines = [line for line in lines if NEEDS_CONTAINERS.match(line)]
    seen = set()
    for line in lines:
        read = subprocess.run(["bash", "-n", "-c", line], capture_output=True, check=False)
        assert read.returncode == 0, f"{line}\n{read.stderr.decode()}"
        # What join.sh holds begins like this (pkg/cmd/init/exec.go of clusteradm).
        written = line.replace("$(cat join.sh)", "clusteradm join")
        for part in re.split(r"[;\"]", written):
            words = shlex.split(part)
            words = words[1:] if words[:1] in (["do"], ["until"]) else words
            for command, flags in FLAGS.items():
                if tuple(words[: len(command)]) == command:
                    seen.add(command)
                    # What follows `docker exec` is the command of another program.
                    own = words[: words.index("gitea")] if command == ("docker", "exec") else words
                    given = {word for word in own if word.startswith("--")}
                    assert given <= flags, line
    assert seen == FLAGS.keys()


def test_the_fleet_of_the_first_hour_has_no_findings(tmp_path: Path) -> None:
    """The scorer and the application of the page, for clusters as `import` writes them."""
    fleet = tmp_path / "fleet"
    settings = {"git_url": "http://gitea:3000/platform/fleet.git", "registry": "localhost/first"}
    scaffold(target=fleet, name="fleet", examples=False, **settings)
    for name in ("cluster1", "cluster2"):
        cluster = BASE["clusters/c.yaml"].replace("prod-1", name)
        (fleet / f"clusters/{name}.yaml").write_text(cluster, "utf-8")
    for block in blocks(KIND, "yaml"):
        if not block.title.startswith(".."):
            (fleet / block.title).write_text(block.text, "utf-8")
    done = gitops_dsf("validate", cwd=fleet)
    assert done.returncode == 0
    assert done.stderr.startswith("no mistakes found\n2 clusters, 1 scorer, 1 application;")
