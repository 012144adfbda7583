"""`gitops-dsf render` as a process: what it writes, refuses, streams and returns.

Aspects covered: --check; --stdout and --part; --out; the guard against shrinking; files that are
not ours; output that cannot be written; errors in the repository; both output modes; both delivery
modes; limits.
"""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gitops_dsf.cli.scaffold import scaffold
from tests.support import fleets, yamlfast
from tests.support.commandline import gitops_dsf
from tests.support.rendering import scorer

DSF = "dynamic-scoring.open-cluster-management.io/v1alpha1"

EXISTING = {"crds": "Existing"}


def render(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return gitops_dsf("render", *arguments, cwd=cwd)


def content(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def sources(
    clusters: int, *, scorers: tuple[dict[str, Any], ...] = (), **spec: Any
) -> fleets.FleetSources:
    settings = {
        "apiVersion": "gitops-dsf.io/v1alpha1",
        "kind": "FleetRepository",
        "metadata": {"name": "fleet"},
        "spec": fleets.with_images({"git": {"url": "https://git.example.com/fleet.git"}, **spec}),
    }
    documents = [fleets.cluster(f"c{number}") for number in range(clusters)]
    return fleets.FleetSources(
        settings=settings, documents=(*documents, *(scorers or (scorer("cpu"),)))
    )


def by_query(name: str, **spec: Any) -> dict[str, Any]:
    """A scorer without a scoring API."""
    source = {"host": "http://prometheus.monitoring.svc:9090", "params": {"query": "avg(up)"}}
    scoring = {"type": "Query", "params": {"name": name, "interval": 60}}
    document = {"description": "Up", "source": source, "scoring": scoring, **spec}
    return fleets.document(DSF, "DynamicScorer", name, document)


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    scaffold(target=tmp_path / "fleet", name="fleet", extras=("examples",))
    return tmp_path / "fleet"


class TestCheck:
    def test_each_way_of_being_stale_is_named_and_nothing_is_written(self, fleet: Path) -> None:
        extra = fleet / "clusters" / "extra.yaml"
        extra.write_text(fleets.text_of([fleets.cluster("extra")]), encoding="utf-8")
        render(cwd=fleet)
        rendered = fleet / "rendered"
        (rendered / "platform" / "dynamicscorer.cpu-headroom.yaml").unlink()
        (rendered / "delivery" / "placement.guestbook.yaml").write_text(
            "# edited\n", encoding="utf-8"
        )
        extra.unlink()
        before = content(rendered)
        done = render("--check", cwd=fleet)
        assert done.returncode == 1
        lines = set(done.stdout.splitlines())
        assert lines >= {
            "missing: rendered/platform/dynamicscorer.cpu-headroom.yaml",
            "stale: rendered/delivery/placement.guestbook.yaml",
            "stale: rendered/INVENTORY",
            "left over: rendered/works-00/extra.manifestwork.yaml",
        }
        assert content(rendered) == before

    def test_line_ends_of_windows_are_one_sentence(self, fleet: Path) -> None:
        render(cwd=fleet)
        rendered = content(fleet / "rendered")
        for name, text in rendered.items():
            (fleet / "rendered" / name).write_bytes(text.replace(b"\n", b"\r\n"))
        done = render("--check", cwd=fleet)
        said = (
            f"rendered: {len(rendered)} files differ in line ends alone (CRLF), as git on"
            " Windows and editors"
            " write them: put the line `* text=auto eol=lf` into .gitattributes, and run"
            " `gitops-dsf render`"
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.splitlines()[-1] == said
        # What differs otherwise is named beside it.
        (fleet / "rendered/delivery/placement.guestbook.yaml").write_bytes(b"# edited\r\n")
        mixed = render("--check", cwd=fleet)
        assert mixed.stdout == "stale: rendered/delivery/placement.guestbook.yaml\n"
        assert f"{len(rendered) - 1} files differ in line ends alone" in mixed.stderr
        assert mixed.stderr.endswith("is out of date (1 file): run `gitops-dsf render`\n")
        assert "line ends alone" in render(cwd=fleet).stderr
        assert content(fleet / "rendered") == rendered
        assert render("--check", cwd=fleet).stderr == done.stderr.removesuffix(f"{said}\n"), (
            "all is well"
        )


class TestBootstrap:
    """rendered/argocd, which people apply."""

    def test_a_change_is_announced_once(self, fleet: Path) -> None:
        assert "kubectl" not in render(cwd=fleet).stdout
        assert "kubectl" not in render(cwd=fleet).stdout
        path = fleet / "gitops-dsf.yaml"
        settings = yamlfast.load(path.read_text(encoding="utf-8"))
        settings["spec"]["output"] = {"shards": 2}
        path.write_text(fleets.text_of([settings]), encoding="utf-8")
        (_, announced) = render(cwd=fleet).stdout.splitlines()
        assert announced == (
            "rendered/argocd changed, and Argo CD does not apply it: run kubectl apply"
            " --server-side -f"
            " rendered/argocd, because until then Argo CD refuses what its AppProjects do not allow"
        )
        assert "kubectl" not in render(cwd=fleet).stdout


class TestStdout:
    def test_a_part_is_the_objects_of_its_folder(self, fleet: Path) -> None:
        render(cwd=fleet)
        for part in ("platform", "works-00", "delivery", "reconciler", "argocd"):
            done = render("--stdout", "--part", part, cwd=fleet)
            assert done.returncode == 0
            files = sorted((fleet / "rendered" / part).glob("*.yaml"))
            assert list(yamlfast.load_all(done.stdout)) == [
                yamlfast.load(path.read_text("utf-8")) for path in files
            ]

    def test_without_a_part_it_is_all_but_the_bootstrap(self, fleet: Path) -> None:
        done = render("--stdout", cwd=fleet)
        kinds = {item["kind"] for item in yamlfast.load_all(done.stdout)}
        assert {"ManifestWork", "DynamicScorer", "Placement", "ApplicationSet"} <= kinds
        assert "AppProject" not in kinds
        assert not (fleet / "rendered").exists()

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (
                ["--stdout", "--part", "works-07"],
                2,
                (
                    "there is no part 'works-07'; this repository renders argocd,"
                    " delivery, platform,"
                    " reconciler, works-00"
                ),
            ),
            (["--part", "platform"], 2, "--part goes with --stdout"),
            (["--stdout", "--check"], 2, "not allowed with argument"),
            (["nowhere"], 2, "nowhere is not a folder"),
        ],
    )
    def test_wrong_usage_leaves_standard_output_empty(
        self, fleet: Path, arguments: list[str], code: int, message: str
    ) -> None:
        done = render(*arguments, cwd=fleet)
        assert (done.returncode, done.stdout) == (code, "")
        assert message in done.stderr

    def test_an_error_leaves_standard_output_empty(self, fleet: Path) -> None:
        (fleet / "scorers" / "broken.yaml").write_text("kind: DynamicScorer\n", encoding="utf-8")
        done = render("--stdout", cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert "nothing was rendered" in done.stderr

    def test_an_empty_part_is_an_error(self, tmp_path: Path) -> None:
        """Argo CD takes an empty answer as: delete everything."""
        fleet = fleets.write(tmp_path / "fleet", sources(clusters=0))
        done = render("--stdout", "--part", "works-00", cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert "would make Argo CD delete what is there" in done.stderr


class TestOutput:
    def test_out_is_the_tree_elsewhere(self, fleet: Path, tmp_path: Path) -> None:
        render(cwd=fleet)
        done = render("--out", str(tmp_path / "a" / "tree"), cwd=fleet)
        assert done.returncode == 0, done.stderr
        assert content(tmp_path / "a" / "tree") == content(fleet / "rendered")

    @pytest.mark.parametrize(
        "name",
        [
            "works-00/admin.yaml",
            "platform/.admin.yml",
            "delivery/kustomization.yaml",
            "more/admin.json",
        ],
    )
    def test_a_check_fails_on_a_file_that_argocd_would_apply(self, fleet: Path, name: str) -> None:
        render(cwd=fleet)
        place = fleet / "rendered" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text("kind: ClusterRoleBinding\n", encoding="utf-8")
        done = render("--check", cwd=fleet)
        assert (done.returncode, done.stdout) == (1, f"foreign: rendered/{name}\n")
        assert "Argo CD would apply them: remove them" in done.stderr

    def test_a_tree_behind_a_symlink_is_neither_read_nor_written(
        self, fleet: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "outside").mkdir()
        (fleet / "rendered").symlink_to(tmp_path / "outside")
        for arguments in ([], ["--check"]):
            done = render(*arguments, cwd=fleet)
            assert done.returncode == 1
            assert "rendered is a symbolic link, and nothing is written behind one" in done.stderr
        assert list((tmp_path / "outside").iterdir()) == []

    def test_a_file_of_somebody_else_in_our_place_stops_everything(self, fleet: Path) -> None:
        place = fleet / "rendered" / "platform" / "dynamicscorer.cpu-headroom.yaml"
        place.parent.mkdir(parents=True)
        place.write_text("kind: Mine\n", encoding="utf-8")
        done = render(cwd=fleet)
        assert done.returncode == 1
        assert "rendered/platform/dynamicscorer.cpu-headroom.yaml" in done.stderr
        assert content(fleet / "rendered") == {
            "platform/dynamicscorer.cpu-headroom.yaml": b"kind: Mine\n"
        }
        assert render("--check", cwd=fleet).returncode == 1

    def test_an_error_in_the_repository_changes_nothing(self, fleet: Path) -> None:
        render(cwd=fleet)
        before = content(fleet / "rendered")
        (fleet / "clusters" / "new.yaml").write_text(
            fleets.text_of([fleets.cluster("new")]), encoding="utf-8"
        )
        (fleet / "scorers" / "broken.yaml").write_text("kind: [\n", encoding="utf-8")
        done = render(cwd=fleet)
        assert done.returncode == 1
        assert "scorers/broken.yaml:2:1: error DSF001" in done.stderr
        assert content(fleet / "rendered") == before

    @pytest.mark.parametrize("place", ["rendered", "rendered/platform"])
    def test_a_file_where_a_folder_belongs_is_said(self, fleet: Path, place: str) -> None:
        (fleet / place).parent.mkdir(exist_ok=True)
        (fleet / place).write_text("mine", encoding="utf-8")
        done = render(cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert place in done.stderr
        assert "Traceback" not in done.stderr
        assert (fleet / place).read_text("utf-8") == "mine"

    def test_a_folder_where_a_file_belongs_is_said(self, fleet: Path) -> None:
        place = fleet / "rendered" / "platform" / "dynamicscorer.cpu-headroom.yaml"
        place.mkdir(parents=True)
        done = render(cwd=fleet)
        assert done.returncode == 1
        assert "rendered/platform/dynamicscorer.cpu-headroom.yaml" in done.stderr
        assert "Traceback" not in done.stderr


class TestShrinking:
    def test_more_than_a_fifth_of_the_works_needs_a_word(self, tmp_path: Path) -> None:
        fleet = tmp_path / "fleet"
        everything = sources(10)
        fleets.write(fleet, everything)
        render(cwd=fleet)
        before = content(fleet / "rendered")
        for number in range(3):
            (fleet / "clusters" / f"{number:03}.yaml").unlink()
        done = render(cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert "would drop 3 of 10 ManifestWorks, more than 20%" in done.stderr
        assert content(fleet / "rendered") == before
        assert render("--allow-shrink", cwd=fleet).stdout.endswith(
            "0 added, 1 changed, 9 removed\n"
        )

    def test_the_last_scorer_needs_a_word_and_suspending_it_does_not(self, tmp_path: Path) -> None:
        fleet = fleets.write(tmp_path / "fleet", sources(2))
        render(cwd=fleet)
        before = content(fleet / "rendered")
        scorers = sorted((fleet / "scorers").iterdir())
        for path in (*scorers, *(fleet / "apps").glob("*"), *(fleet / "config").glob("*")):
            path.unlink()
        done = render(cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert "would drop every scorer (1): are all the files of scorers/ there?" in done.stderr
        assert content(fleet / "rendered") == before
        assert render("--allow-shrink", cwd=fleet).returncode == 0

        suspended = fleets.write(tmp_path / "suspended", sources(2))
        render(cwd=suspended)
        fleets.write(suspended, sources(2, scorers=(scorer("cpu", suspend=True),)))
        assert render(cwd=suspended).returncode == 0

    def test_scorers_that_have_no_object_count(self, tmp_path: Path) -> None:
        """With delivery.crds Existing, scorers by query are in the list alone."""
        queries = (by_query("load"), by_query("idle"))
        fleet = fleets.write(tmp_path / "fleet", sources(2, scorers=queries, delivery=EXISTING))
        assert render(cwd=fleet).returncode == 0
        before = content(fleet / "rendered")
        assert not [path for path in before if path.startswith("platform/dynamicscorer.")]
        for path in (fleet / "scorers").iterdir():
            path.unlink()
        done = render(cwd=fleet)
        assert (done.returncode, done.stdout) == (1, "")
        assert "would drop every scorer (2): are all the files of scorers/ there?" in done.stderr
        assert content(fleet / "rendered") == before
        part = fleet / "rendered/platform/configmap.gitops-dsf-scorers-0.yaml"
        part.write_bytes(b"<<<<<<< ours\n" + part.read_bytes())
        assert "would drop every scorer (1)" in render(cwd=fleet).stderr, "it holds one at least"
        assert render("--allow-shrink", cwd=fleet).returncode == 0

    def test_scorers_that_lose_only_their_objects_are_not_dropped(self, tmp_path: Path) -> None:
        """They stay in the list when delivery.crds becomes Existing, and when all are suspended."""
        queries = (by_query("load"), by_query("idle"))
        fleet = fleets.write(tmp_path / "fleet", sources(2, scorers=queries))
        assert render(cwd=fleet).returncode == 0
        assert (fleet / "rendered/platform/dynamicscorer.load.yaml").exists()
        fleets.write(fleet, sources(2, scorers=queries, delivery=EXISTING))
        done = render(cwd=fleet)
        assert (done.returncode, done.stderr) == (0, "")
        assert not (fleet / "rendered/platform/dynamicscorer.load.yaml").exists()
        suspended = (by_query("load", suspend=True), by_query("idle", suspend=True))
        fleets.write(fleet, sources(2, scorers=suspended, delivery=EXISTING))
        assert render(cwd=fleet).returncode == 0


class TestLimits:
    def test_a_work_that_ocm_would_refuse(self, tmp_path: Path) -> None:
        large = tuple(
            scorer(
                f"s{number}",
                scoring={
                    "params": {"name": f"s{number}", "interval": 60},
                    "arguments": {"model": "x" * 60_000},
                },
            )
            for number in range(9)
        )
        done = render(cwd=fleets.write(tmp_path / "fleet", sources(3, scorers=large)))
        assert done.returncode == 1
        assert re.search(
            r"^\S+:\d+:\d+: error DSF501: the ManifestWork of c0 and 2 more clusters would be",
            done.stderr,
            re.MULTILINE,
        )
        assert not (tmp_path / "fleet" / "rendered").exists()

    def test_an_overfull_shard_names_the_number_that_is_enough(self, tmp_path: Path) -> None:
        fleet = fleets.write(tmp_path / "fleet", sources(501))
        done = render(cwd=fleet)
        assert done.returncode == 1
        assert "error DSF502: works-00 would hold 501 clusters" in done.stderr
        assert "set spec.output.shards to 2 in gitops-dsf.yaml" in done.stderr
        fleets.write(fleet, sources(501, output={"shards": 2}))
        assert render(cwd=fleet).returncode == 0

    def test_names_as_long_as_kubernetes_allows_get_files(self, tmp_path: Path) -> None:
        twins = tuple(
            scorer("a" * 252 + last, scoring={"params": {"name": last, "interval": 60}})
            for last in ("b", "c")
        )
        fleet = fleets.write(tmp_path / "fleet", sources(1, scorers=twins))
        assert render(cwd=fleet).returncode == 0
        names = {
            yamlfast.load(path.read_text("utf-8"))["metadata"]["name"]
            for path in fleet.glob("rendered/platform/dynamicscorer.*")
        }
        assert names == {"a" * 252 + "b", "a" * 252 + "c"}


class TestOutThatIsNoFolder:
    def test_an_empty_path_is_wrong_usage_and_not_this_folder(self, fleet: Path) -> None:
        before = content(fleet)
        done = render("--out", "", cwd=fleet)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--out is empty" in done.stderr
        assert content(fleet) == before

    @pytest.mark.parametrize(
        "out", [".", "scorers", "clusters/new", "rendered/../apps", "../fleet"]
    )
    def test_a_folder_of_sources_is_refused(self, fleet: Path, out: str) -> None:
        before = content(fleet)
        done = render("--out", out.replace("fleet", fleet.name), cwd=fleet)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is where the sources are; name a folder of its own, such as rendered" in done.stderr
        assert content(fleet) == before
