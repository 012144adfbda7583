"""docs/reference/diagnostics.md: every code has an entry; the bad example of each prints it, and the base
repository and the good examples have no findings.

What has no example there is in tests/golden/findings.txt, or made here.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.diagnostics.codes import CODES
from gitops_dsf.pipeline import check
from tests.support.diagnostics_docs import ENTRIES, Entry, write
from tests.support.pages import ROOT

WITH_YAML = [entry for entry in ENTRIES if entry.example("bad") is not None]
PLACES = {
    "DSF002": "config/masks.yaml:2:1",
    "DSF003": "clusters/edge.yaml:5:23",
    "DSF005": "clusters/cologne.yaml:1:25",
    "DSF006": "scorers/cpu.yaml:19:85",
    "DSF007": "scorers/cpu.yaml:19:46",
    "DSF008": "clusters/fleet.yaml:1:1",
    "DSF009": "clusters/second.yaml:1:1",
    "DSF010": "gitops-dsf.yaml:1:1",
    "DSF011": "clusters/second.yaml:1:1",
    "DSF019": "clusters/edge.yaml:5:12",
    "DSF020": "scorers/cpu.yaml:8:19",
    "DSF021": "scorer:1:1",
    "DSF030": "scorers/cpu.yaml:1020:1",
    "DSF035": "clusters/prod.yaml:1:1",
    "DSF036": "gitops-dsf.yaml:1:1",
    "DSF037": "clusters/prod.yaml:1:1",
    "DSF038": "apps/web.yaml:4:9",
    "DSF039": "gitops-dsf.yaml:7:10",
    "DSF153": "gitops-dsf.yaml:4:9",
    "DSF175": "gitops-dsf.yaml:7:10",
    "DSF176": "scorers/cpu.yaml:19:11",
    "DSF341": "apps/web.yaml:10:27",
    "DSF501": "scorers/cpu.yaml:4:9",
    "DSF502": "gitops-dsf.yaml:11:20",
    "DSF503": "apps/web.yaml:12:5",
}
"""Where the findings are that tests/golden/findings.txt does not have. Those about a whole file or the whole
repository are at its first character.
"""

LINE = re.compile(r"^(\S+:\d+:\d+): (?:error|warning|notice) (DSF\d{3}): ", re.MULTILINE)
CLUSTER = "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: more-{}}}\n"


def shell(command: str) -> Callable[[Path], None]:
    """The base repository after a command."""

    def run(root: Path) -> None:
        (root.parent / "elsewhere").mkdir(exist_ok=True)
        (root.parent / "elsewhere" / "clusters.yaml").write_text("{}")
        write(root, "")
        subprocess.run(["bash", "-c", command], cwd=root, check=True)

    return run


def example(text: str) -> Callable[[Path], None]:
    return lambda root: write(root, text)


def large_hub_configuration(root: Path) -> None:
    (good,) = (entry.example("good") for entry in ENTRIES if entry.code == "DSF152")
    assert good is not None
    write(root, f"{good.rstrip()}\n    arguments: {{text: {'x' * 1_050_000}}}\n")


def full_shard(root: Path) -> None:
    git = 'git: {url: "https://git.example.com/team/fleet.git"}'
    write(root, f"# gitops-dsf.yaml\nspec:\n  {git}\n  output: {{shards: 1}}\n")
    (root / "clusters" / "more.yaml").write_text(
        "---\n".join(CLUSTER.format(number) for number in range(501))
    )


def large_set(root: Path) -> None:
    (good,) = (entry.example("good") for entry in ENTRIES if entry.code == "DSF358")
    assert good is not None
    write(root, good)
    (root / "clusters" / "more.yaml").write_text(
        "---\n".join(
            CLUSTER.format(f"{number}, labels: {{env: {'x' * 63}}}") for number in range(8_000)
        )
    )


ARGUMENTS = "# scorers/cpu.yaml\nspec:\n  scoring:\n    arguments: "
BUILDERS: dict[str, Callable[[Path], None]] = {
    "DSF002": shell(r"printf 'spec:\n\tmasks: []\n' > config/masks.yaml"),
    "DSF003": example("# clusters/edge.yaml\nmetadata:\n  labels: {env: prod, env: edge}\n"),
    "DSF005": shell(r"printf 'kind: ManagedCluster # K\xf6ln\n' > clusters/cologne.yaml"),
    "DSF006": example(f"{ARGUMENTS}{{matrix: {'[' * 70}\n"),
    "DSF008": shell("yes '# padding' | head -c 9000000 > clusters/fleet.yaml"),
    "DSF009": shell("ln -s ../../elsewhere/clusters.yaml clusters/second.yaml"),
    "DSF010": lambda _root: None,
    "DSF011": shell("echo '- prod-2' > clusters/second.yaml"),
    "DSF030": shell('for n in $(seq 1001); do echo "f$n: 1"; done >> scorers/cpu.yaml'),
    "DSF035": shell("git init --quiet && git add --all && rm clusters/prod.yaml"),
    "DSF036": shell("echo 'gitdir: /nonexistent' > .git"),
    "DSF037": shell("echo 'version https://git-lfs.github.com/spec/v1' > clusters/prod.yaml"),
    "DSF039": shell(
        "git init --quiet .. && git -C .. remote add origin https://git.example.com/team/fleet.git"
    ),
    "DSF153": large_hub_configuration,
    "DSF175": example(
        "# gitops-dsf.yaml\nspec:\n  git:\n    url: https://git.example.com/platform/fleet.git\n"
    ),
    "DSF501": example(f"{ARGUMENTS}{{text: {'x' * 520_000}}}\n"),
    "DSF502": full_shard,
    "DSF503": large_set,
}


@pytest.fixture
def printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[Path], None]], list[tuple[str, str]]]:
    """Code and place of each finding, from the terminal's text."""

    def run(build: Callable[[Path], None]) -> list[tuple[str, str]]:
        (tmp_path / "fleet").mkdir()
        build(tmp_path / "fleet")
        monkeypatch.chdir(tmp_path / "fleet")
        main(["validate"])
        return [(code, place) for place, code in LINE.findall(capsys.readouterr().out)]

    return run


Printed = Callable[[Callable[[Path], None]], list[tuple[str, str]]]


def test_every_code_has_an_entry_in_order() -> None:
    assert [(entry.code, entry.title) for entry in ENTRIES] == [
        (code, info.title) for code, info in CODES.items()
    ]
    assert all([kind for kind, _ in entry.blocks] in (["diff"], []) for entry in ENTRIES)


def test_every_code_is_found_somewhere() -> None:
    golden = re.findall(
        r"^(DSF\d{3}) ", (ROOT / "tests/golden/findings.txt").read_text("utf-8"), re.MULTILINE
    )
    assert {*golden, *PLACES} == set(CODES)


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_the_bad_example_of_a_code_prints_it(entry: Entry, printed: Printed) -> None:
    found = printed(example(entry.example("bad") or ""))
    assert entry.code in {code for code, _ in found}


@pytest.mark.parametrize("code", PLACES)
def test_a_code_is_printed_at_its_line_and_column(code: str, printed: Printed) -> None:
    (entry,) = (entry for entry in ENTRIES if entry.code == code)
    found = printed(BUILDERS.get(code) or example(entry.example("bad") or ""))
    assert [place for name, place in found if name == code][:1] == [PLACES[code]]


def test_the_base_repository_has_no_findings(tmp_path: Path) -> None:
    write(tmp_path, "")
    checked = check(tmp_path)
    assert checked.diagnostics == ()
    assert checked.fleet is not None


@pytest.mark.parametrize("entry", WITH_YAML, ids=lambda entry: entry.code)
def test_a_good_example_has_no_findings(entry: Entry, tmp_path: Path) -> None:
    write(tmp_path, entry.example("good") or "")
    assert [
        (item.code, str(item.position), item.message) for item in check(tmp_path).diagnostics
    ] == []
