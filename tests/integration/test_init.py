"""The verb `init`.

A repository that is valid and renders as it is, in a checkout and from the wheel, and refusals that
write nothing.
"""

import re
import shlex
import zipfile
from pathlib import Path

import pytest

from gitops_dsf import __version__
from gitops_dsf.cli.scaffold import default_name, scaffold
from gitops_dsf.cli.template import TEMPLATE_NAME
from gitops_dsf.errors import RepositoryError, UsageError
from tests.hub.controlplane.gitrepository import GitRepository, git
from tests.support import yamlfast
from tests.support.commandline import gitops_dsf, output_of
from tests.support.pages import files_of_the_readme

ROOT = Path(__file__).parents[2]
URL = "https://git.internal/platform/emea.git"
PIPELINES = (
    ".github/workflows/gitops-dsf.yaml",
    ".gitea/workflows/gitops-dsf.yaml",
    ".gitlab-ci.yml",
)
REGISTRY = "registry.internal:5000/platform"


@pytest.mark.parametrize("words", [[], ["--empty"]])
def test_a_reviewer_can_read_a_first_commit(tmp_path: Path, words: list[str]) -> None:
    made = gitops_dsf("init", "fleet", "--forge", "github", *words, cwd=tmp_path)
    files = [path for path in (tmp_path / "fleet").rglob("*") if path.is_file()]
    assert f"({len(files)} files)" in made.stdout
    assert len(files) <= 15
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) <= 400
    assert max(path.stat().st_size for path in files) <= 120_000


@pytest.mark.parametrize(
    ("words", "pipeline"),
    [
        ((), None),
        (("--forge", "gitlab"), ".gitlab-ci.yml"),
        (("--git-url", "git@gitlab.example.com:team/fleet.git"), ".gitlab-ci.yml"),
        (("--git-url", "https://codeberg.org/team/fleet.git"), ".gitea/workflows/gitops-dsf.yaml"),
        (("--git-url", "https://github.com/team/gitlab.git"), ".github/workflows/gitops-dsf.yaml"),
        (("--git-url", "https://git.example.com/github/fleet.git"), None),
        (("--git-url", "https://github.com/a/b.git", "--forge", "gitlab"), ".gitlab-ci.yml"),
    ],
)
def test_the_pipeline_is_that_of_the_forge(
    tmp_path: Path, words: tuple[str, ...], pipeline: str | None
) -> None:
    made = gitops_dsf("init", "fleet", *words, cwd=tmp_path)
    found = [name for name in PIPELINES if (tmp_path / "fleet" / name).exists()]
    assert found == ([pipeline] if pipeline else [])
    assert ("There is no pipeline: name the forge with --forge" in made.stdout) == (
        pipeline is None
    )
    assert "\\" not in made.stdout, "no line break of ours is shown as an escape"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--with", "codeowner"),
            "'codeowner' is not known: write some of codeowners, pre-commit, examples",
        ),
        (("--with", "examples", "--empty"), "write one of the two"),
        (("--hashes",), "--hashes needs --wheels"),
        (("--forge", "svn"), "invalid choice"),
    ],
)
def test_wrong_words_write_nothing(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    refused = gitops_dsf("init", "fleet", *words, cwd=tmp_path)
    assert refused.returncode == 2
    assert message in refused.stderr
    assert not (tmp_path / "fleet").exists()


def test_init_then_validate_then_render(tmp_path: Path) -> None:
    made = gitops_dsf("init", "fleet", "--git-url", URL, "--registry", REGISTRY, cwd=tmp_path)
    assert (made.returncode, made.stderr) == (0, "")
    assert "cd fleet" in made.stdout
    assert "gitops-dsf validate" in made.stdout
    fleet = tmp_path / "fleet"
    for verb in (["validate", "--strict"], ["test"], ["render"], ["render", "--check"], ["schema"]):
        result = gitops_dsf(*verb, cwd=fleet)
        assert result.returncode == 0, (verb, result.stdout, result.stderr)
    assert "up to date" in result.stdout, "init already wrote the schema of this version"
    assert {path.name for path in (fleet / "rendered").iterdir() if path.is_dir()} == {
        "argocd",
        "delivery",
        "platform",
        "reconciler",
        "works-00",
    }
    settings = yamlfast.load((fleet / "gitops-dsf.yaml").read_text("utf-8"))
    assert settings["metadata"]["name"] == "fleet"
    assert settings["spec"]["git"]["url"] == URL


@pytest.mark.parametrize("registry", [REGISTRY, "127.0.0.1:5000", "10.0.0.7:5000/platform"])
def test_images_are_those_of_the_registry(tmp_path: Path, registry: str) -> None:
    scaffold(target=tmp_path, name="fleet", registry=registry)
    text = (tmp_path / "gitops-dsf.yaml").read_text("utf-8")
    spec = yamlfast.load(text)["spec"]
    assert spec["agent"]["image"] == f"{registry}/gitops-dsf-agent:{__version__}"
    assert spec["reconciler"]["image"] == f"{registry}/gitops-dsf-reconciler:{__version__}"
    assert "REGISTRY" not in text


def test_without_a_registry_a_notice_says_that_no_pod_will_start(tmp_path: Path) -> None:
    made = gitops_dsf("init", "fleet", "--git-url", URL, cwd=tmp_path)
    assert "no public registry has them" in made.stdout
    strict = gitops_dsf("validate", "--strict", cwd=tmp_path / "fleet")
    assert strict.returncode == 0, "it is not a mistake of the fleet"
    assert "notice DSF191" in strict.stdout
    assert "spec has no agent.image and no reconciler.image" in strict.stdout
    assert f"agent.image: REGISTRY/gitops-dsf-agent:{__version__}" in strict.stdout


HUB = """\
apiVersion: v1
kind: List
items:
  - apiVersion: cluster.open-cluster-management.io/v1
    kind: ManagedCluster
    metadata: {name: paris, labels: {env: prod, cluster.open-cluster-management.io/clusterset: default}}
    spec: {hubAcceptsClient: true}
  - apiVersion: cluster.open-cluster-management.io/v1beta2
    kind: ManagedClusterSet
    metadata: {name: default}
    spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}
"""  # noqa: E501
"""What kubectl prints of a hub that knows none of the example clusters."""


@pytest.mark.parametrize("first", [{}, {"README.md": "# Ours\n", ".gitignore": "*.pyc\n"}])
def test_the_commands_of_the_install_page_work_on_a_hub_of_ones_own(
    wheels: Path, tmp_path: Path, first: dict[str, str]
) -> None:
    """On a forge that made an empty repository, and on one that made a first commit."""
    page = (ROOT / "docs/start/install.md").read_text("utf-8")
    sections = [page.partition(f"## {number}. ")[2].partition("\n## ")[0] for number in (3, 6)]
    commands = re.findall(r"^    ((?:gitops-dsf|git|cd) .+)$", "".join(sections), re.MULTILINE)
    (tmp_path / "hub.yaml").write_text(HUB)
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "dist").symlink_to(wheels)
    forge = tmp_path / "forge.git"
    git("init", "--quiet", "--bare", "--initial-branch=main", str(forge), folder=tmp_path)
    if first:
        repository = GitRepository.create(url="", bare=forge, clone=tmp_path / "browser")
        repository.commit(first)
    ran = []
    for command in commands:
        program, *words = shlex.split(command)
        ran.append(f"{program} {words[0]}")
        if program == "cd":
            folder = folder / words[0]
        elif program == "git":
            words = [
                str(forge) if word == "https://git.example.com/team/fleet.git" else word
                for word in words
            ]
            git(*words, folder=folder)
        elif words[0] != "status":
            given = ["--from", str(tmp_path / "hub.yaml")]
            words = [each for word in words for each in (given if word == "--context" else [word])]
            words = [word for word in words if word != "hub"]
            if ran.count("gitops-dsf render") == 2:
                works = {
                    path.name
                    for path in (folder / "rendered" / "works-00").glob("*.manifestwork.yaml")
                }
                assert works == {"paris.manifestwork.yaml"}, "and no example cluster"
                for path in ("scorers/cpu-headroom.yaml", "apps/guestbook.yaml"):
                    (folder / path).write_text(files_of_the_readme()[path])
            strict = ["--strict"] if words[0] == "validate" else []
            result = gitops_dsf(*words, *strict, cwd=folder)
            assert result.returncode == 0, (command, result.stdout, result.stderr)
    verbs = [words.removeprefix("gitops-dsf ") for words in ran if words.startswith("gitops-dsf")]
    assert verbs == ["init", "import", "validate", "render", "render", "status"]
    assert ran.count("git push") == 2
    pushed = git("ls-tree", "-r", "--name-only", "main", folder=forge).splitlines()
    assert "rendered/delivery/placement.guestbook.yaml" in pushed
    assert sum(path.startswith("wheels/") for path in pushed) == 4
    assert set(first) <= set(pushed)
    assert git("remote", folder=folder).strip() == "origin"


def test_name_and_url_replace_the_templates_everywhere(tmp_path: Path) -> None:
    url = f"https://git.internal/{TEMPLATE_NAME}-of-ours.git"
    scaffold(target=tmp_path, name="emea", git_url=url)
    texts = {path: path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert not [path for path, text in texts.items() if TEMPLATE_NAME in text.replace(url, "")]
    assert url in texts[tmp_path / "gitops-dsf.yaml"]
    assert texts[tmp_path / "README.md"].startswith("# emea\n")


def test_a_folder_in_use_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    result = gitops_dsf("init", str(tmp_path), cwd=tmp_path.parent)
    assert result.returncode == 2
    assert "is not empty (it holds mine.txt)" in result.stderr
    assert "Traceback" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


REGISTRIES = ("", "https://registry.example.com", "r.example.com/", "R/x", "a b", "a\nb")
URLS = (
    "",
    "fleet",
    "https://github.com/acme/fleet/tree/main",
    "ext::sh/x",
    "ssh://-oProxyCommand=id/fleet.git",
    "https://git/x\nspec: {}",
)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        *(({"registry": each}, "is not a registry: write its host") for each in REGISTRIES),
        *(({"name": each}, "cannot be the fleet's name") for each in ("Fleet", "", "a" * 64)),
        *(({"git_url": each}, "is not a git URL") for each in URLS),
        ({"git_url": "https://user:secret@git.internal/x.git"}, "holds credentials"),
        ({"git_url": "https://token@git.internal/x.git"}, "is not a git URL|holds credentials"),
    ],
)
def test_a_bad_wish_writes_nothing(tmp_path: Path, wish: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        scaffold(target=tmp_path / "fleet", **{"name": "ok", **wish})
    assert not (tmp_path / "fleet").exists()


def test_a_file_or_a_dangling_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, error, message in (
        ("file", UsageError, "is a file"),
        ("link", UsageError, "is a link to nothing"),
        ("file/fleet", RepositoryError, "cannot write"),
    ):
        with pytest.raises(error, match=message):
            scaffold(target=tmp_path / name, name="fleet")


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("fleet", "fleet"),
        ("My Fleet_2", "my-fleet-2"),
        ("---", "fleet"),
        ("x" * 80, "x" * 63),
        (".hidden", "hidden"),
    ],
)
def test_the_default_name_comes_from_the_folder(tmp_path: Path, folder: str, name: str) -> None:
    assert default_name(tmp_path / folder) == name


def test_the_wheel_holds_the_whole_template(wheels: Path) -> None:
    """Dotfiles and workflows included; a wheel without them would make a repository without
    checks.
    """
    (wheel,) = wheels.glob("gitops_dsf-*.whl")
    prefix = "gitops_dsf/_data/repo-template/"
    inside = {
        name.removeprefix(prefix)
        for name in zipfile.ZipFile(wheel).namelist()
        if name.startswith(prefix)
    }
    listed = output_of("git", "ls-files", "repo-template", cwd=ROOT)
    outside = {line.removeprefix("repo-template/") for line in listed.splitlines()}
    assert {
        "on-request/github/.github/workflows/gitops-dsf.yaml",
        "on-request/pre-commit/.pre-commit-config.yaml",
        ".gitattributes",
        ".vscode/settings.json",
    } <= outside
    assert inside >= outside


def test_every_step_of_a_newcomer_works_from_the_wheel(
    pipeline_programs: Path, tmp_path: Path
) -> None:
    """In a folder far from the checkout, and without it on the path."""
    installed = str(pipeline_programs.parent)
    steps = [
        ["init", "fleet", "--registry", REGISTRY, "--git-url", URL],
        ["validate", "fleet", "--strict"],
        ["render", "fleet"],
        ["render", "fleet", "--check"],
        ["render", "fleet", "--stdout", "--part", "platform"],
        ["validate", "fleet/scorers/cpu-headroom.yaml", "--fix"],
        ["schema", "--out", "schemas"],
        ["--completion", "bash"],
        ["scorer", "new", "gpu-headroom"],
    ]
    script = (
        "import sys\n"
        "from gitops_dsf.cli import main as cli\n"
        f"assert cli.__file__.startswith({installed!r}), cli.__file__\n"
        f"for step in {steps!r}:\n"
        "    if cli.main(step) != 0: sys.exit(f'this failed: {step}')\n"
    )
    output_of(pipeline_programs / "python", "-I", "-c", script, cwd=tmp_path)
    assert (tmp_path / "fleet" / "rendered" / "INVENTORY").is_file()
    assert {path.name for path in (tmp_path / "schemas").iterdir()} >= {
        path.name for path in (ROOT / "schemas").iterdir() if path.is_dir()
    }
