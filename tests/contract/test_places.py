"""Every code at its line and column, as `validate` prints it: the repository of docs/diagnostics.md with the
entry's bad example.

Where the documentation shows commands in place of YAML, a function here does what they do. A code that is
missing in the table fails.
"""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.diagnostics.codes import CODES
from tests.support.diagnostics_docs import ENTRIES, write

PLACES: dict[str, str] = {
    "DSF001": "scorers/cpu.yaml:6:19",
    "DSF002": "config/masks.yaml:2:1",
    "DSF003": "scorers/cpu.yaml:16:48",
    "DSF004": "clusters/more.yaml:6:11",
    "DSF005": "clusters/cologne.yaml:1:25",
    "DSF006": "clusters/more.yaml:2:70",
    "DSF007": "scorers/cpu.yaml:16:16",
    "DSF008": "clusters/fleet.yaml:1:1",
    "DSF009": "clusters/more.yaml:1:1",
    "DSF010": "gitops-dsf.yaml:1:1",
    "DSF011": "clusters/more.yaml:1:1",
    "DSF012": "scorers/gpu.yaml:2:7",
    "DSF013": "scorers/cpu.yaml:20:3",
    "DSF014": "scorers/cpu.yaml:12:12",
    "DSF015": "scorers/cpu.yaml:16:44",
    "DSF016": "scorers/cpu.yaml:20:21",
    "DSF017": "apps/cluster.yaml:2:1",
    "DSF018": "clusters/more.yaml:4:9",
    "DSF019": "clusters/more.yaml:5:12",
    "DSF020": "scorers/cpu.yaml:8:19",
    "DSF021": "scorer:1:1",
    "DSF022": "scorers/cpu.yaml:19:3",
    "DSF023": "gitops-dsf.yaml:1:1",
    "DSF024": "scorers/cpu.yaml:6:5",
    "DSF101": "scorers/second.yaml:10:20",
    "DSF102": "scorers/second.yaml:10:20",
    "DSF103": "scorers/cpu.yaml:7:14",
    "DSF104": "scorers/cpu.yaml:7:14",
    "DSF105": "scorers/cpu.yaml:17:39",
    "DSF106": "scorers/cpu.yaml:16:5",
    "DSF107": "scorers/cpu.yaml:16:44",
    "DSF108": "scorers/cpu.yaml:11:45",
    "DSF109": "scorers/cpu.yaml:14:16",
    "DSF110": "scorers/cpu.yaml:11:22",
    "DSF111": "scorers/cpu.yaml:11:22",
    "DSF112": "scorers/cpu.yaml:20:39",
    "DSF113": "scorers/cpu.yaml:20:39",
    "DSF114": "scorers/cpu.yaml:8:19",
    "DSF115": "scorers/cpu.yaml:16:44",
    "DSF116": "scorers/cpu.yaml:11:11",
    "DSF117": "locks/cpu.yaml:7:28",
    "DSF118": "locks/cpu.yaml:4:9",
    "DSF119": "scorers/cpu.yaml:20:20",
    "DSF120": "gitops-dsf.yaml:4:9",
    "DSF121": "scorers/cpu.yaml:11:32",
    "DSF122": "scorers/cpu.yaml:10:11",
    "DSF123": "scorers/cpu.yaml:11:35",
    "DSF124": "scorers/cpu.yaml:9:3",
    "DSF125": "scorers/cpu.yaml:12:35",
    "DSF126": "scorers/cpu.yaml:17:35",
    "DSF127": "scorers/cpu.yaml:18:28",
    "DSF128": "scorers/cpu.yaml:18:33",
    "DSF129": "scorers/cpu.yaml:18:28",
    "DSF130": "scorers/cpu.yaml:15:35",
    "DSF131": "scorers/cpu.yaml:16:11",
    "DSF132": "scorers/cpu.yaml:13:7",
    "DSF133": "scorers/cpu.yaml:9:18",
    "DSF134": "scorers/cpu.yaml:21:3",
    "DSF135": "scorers/cpu.yaml:14:39",
    "DSF136": "scorers/cpu.yaml:11:22",
    "DSF137": "scorers/cpu.yaml:9:17",
    "DSF138": "scorers/cpu.yaml:11:5",
    "DSF139": "scorers/cpu.yaml:9:17",
    "DSF140": "config/sources.yaml:3:18",
    "DSF141": "config/sources.yaml:7:7",
    "DSF142": "config/sources.yaml:8:18",
    "DSF143": "config/sources.yaml:7:7",
    "DSF145": "scorers/cpu.yaml:11:21",
    "DSF146": "scorers/cpu.yaml:11:5",
    "DSF147": "scorers/cpu.yaml:11:49",
    "DSF148": "scorers/cpu.yaml:9:3",
    "DSF149": "scorers/cpu.yaml:12:14",
    "DSF150": "scorers/cpu.yaml:12:41",
    "DSF151": "scorers/cpu.yaml:12:44",
    "DSF152": "scorers/cpu.yaml:16:5",
    "DSF153": "gitops-dsf.yaml:4:9",
    "DSF154": "scorers/cpu.yaml:10:11",
    "DSF155": "scorers/cpu.yaml:11:5",
    "DSF157": "gitops-dsf.yaml:8:12",
    "DSF158": "scorers/cpu-next.yaml:6:13",
    "DSF159": "scorers/cpu-next.yaml:6:13",
    "DSF160": "scorers/cpu-next.yaml:7:3",
    "DSF161": "locks/cpu-forecast-next.yaml:9:15",
    "DSF162": "gitops-dsf.yaml:12:9",
    "DSF166": "scorers/cpu.yaml:10:11",
    "DSF167": "scorers/cpu.yaml:11:47",
    "DSF168": "scorers/cpu.yaml:16:44",
    "DSF169": "gitops-dsf.yaml:10:32",
    "DSF170": "gitops-dsf.yaml:10:24",
    "DSF171": "scorers/cpu.yaml:12:66",
    "DSF191": "gitops-dsf.yaml:8:5",
    "DSF201": "config/masks.yaml:7:20",
    "DSF202": "config/masks.yaml:8:18",
    "DSF203": "scorers/cpu.yaml:20:3",
    "DSF204": "config/masks.yaml:8:7",
    "DSF205": "scorers/cpu.yaml:4:9",
    "DSF206": "scorers/cpu.yaml:20:61",
    "DSF207": "config/masks.yaml:4:9",
    "DSF208": "gitops-dsf.yaml:1:1",
    "DSF209": "clusters/more.yaml:4:9",
    "DSF301": "apps/web.yaml:14:15",
    "DSF302": "apps/web.yaml:14:15",
    "DSF303": "apps/web.yaml:14:15",
    "DSF304": "apps/web.yaml:14:15",
    "DSF305": "apps/web.yaml:15:15",
    "DSF306": "apps/web.yaml:16:21",
    "DSF307": "apps/web.yaml:15:63",
    "DSF308": "apps/web.yaml:15:16",
    "DSF309": "apps/web.yaml:12:19",
    "DSF310": "apps/web.yaml:12:5",
    "DSF311": "apps/web.yaml:4:9",
    "DSF312": "apps/placement.yaml:5:21",
    "DSF313": "apps/placement.yaml:8:52",
    "DSF314": "apps/placement.yaml:5:64",
    "DSF315": "apps/placement.yaml:6:44",
    "DSF316": "apps/placement.yaml:9:15",
    "DSF317": "apps/placement.yaml:8:9",
    "DSF318": "apps/placement.yaml:7:5",
    "DSF319": "clusters/more.yaml:6:3",
    "DSF320": "apps/web.yaml:11:3",
    "DSF321": "apps/placement.yaml:5:16",
    "DSF322": "apps/web.yaml:14:15",
    "DSF323": "apps/placement.yaml:8:62",
    "DSF324": "apps/placement.yaml:9:59",
    "DSF325": "apps/placement.yaml:6:3",
    "DSF326": "apps/web.yaml:14:20",
    "DSF327": "apps/web.yaml:15:3",
    "DSF328": "apps/training.yaml:5:14",
    "DSF329": "apps/web.yaml:14:15",
    "DSF334": "apps/web.yaml:15:15",
    "DSF335": "apps/web.yaml:7:62",
    "DSF336": "apps/web.yaml:7:23",
    "DSF337": "apps/web.yaml:8:14",
    "DSF338": "apps/more.yaml:10:27",
    "DSF339": "apps/web.yaml:12:23",
    "DSF340": "clusters/more.yaml:6:52",
    "DSF401": "apps/web.yaml:5:14",
    "DSF402": "apps/set.yaml:7:7",
    "DSF403": "apps/set.yaml:9:9",
    "DSF404": "apps/set.yaml:10:30",
    "DSF405": "apps/set.yaml:8:23",
    "DSF406": "apps/set.yaml:5:34",
    "DSF407": "apps/set.yaml:9:85",
    "DSF408": "apps/set.yaml:11:37",
    "DSF409": "apps/web.yaml:4:9",
    "DSF501": "scorers/cpu.yaml:4:9",
    "DSF502": "gitops-dsf.yaml:13:20",
    "DSF601": "tests/web.yaml:7:60",
    "DSF602": "tests/web.yaml:8:47",
    "DSF603": "tests/web.yaml:7:9",
    "DSF604": "tests/web.yaml:8:9",
}
"""Code to file:line:column. Findings about a whole file or the whole repository are at its first character.
"""

LINE = re.compile(r"^(\S+:\d+:\d+): (?:error|warning|notice) (DSF\d{3}): ", re.MULTILINE)
CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata: {{name: more-{}}}\n"
)


def grow(root: Path, count: int) -> None:
    """Clusters beside those of the base repository."""
    (root / "clusters" / "more.yaml").write_text(
        "---\n".join(CLUSTER.format(number) for number in range(count))
    )


def shell(code: str) -> Callable[[Path], None]:
    """What the documentation's console example does."""

    def run(root: Path) -> None:
        (root.parent / "elsewhere").mkdir(exist_ok=True)
        (root.parent / "elsewhere" / "clusters.yaml").write_text("{}")
        entry = next(entry for entry in ENTRIES if entry.code == code)
        command = next(
            text for language, which, text in entry.blocks if which == "bad" and language == "console"
        )
        write(root, "")
        subprocess.run(["bash", "-c", command.removeprefix("$ ")], cwd=root, check=True)

    return run


def nothing(root: Path) -> None:
    """An empty folder."""


def many_writes(root: Path, clusters: int = 1_201) -> None:
    """Ten scorers, each with one write a minute for each cluster."""
    write(root, "# scorers/cpu.yaml\nspec:\n  scoreTTLSeconds: 120\n  publish: {minIntervalSeconds: 60}\n")
    scorer = (root / "scorers" / "cpu.yaml").read_text("utf-8")
    for number in range(9):
        (root / "scorers" / f"{number}.yaml").write_text(scorer.replace("cpu", f"cpu{number}"), "utf-8")
    grow(root, clusters)


def large_decision(root: Path, clusters: int = 99) -> None:
    write(root, "# apps/web.yaml\nspec:\n  placement:\n    clusterSets: [global]\n")
    grow(root, clusters)


def large_work(root: Path) -> None:
    params = "params: {name: cpu_forecast, interval: 60}"
    write(
        root,
        f"# scorers/cpu.yaml\nspec:\n  scoring:\n    {params}\n    arguments: {{text: {'x' * 520_000}}}\n",
    )


def large_hub_configuration(root: Path) -> None:
    entry = next(entry for entry in ENTRIES if entry.code == "DSF152")
    example = entry.example("good")
    assert example is not None
    write(root, f"{example.rstrip()}\n    arguments: {{text: {'x' * 1_050_000}}}\n")


def full_shard(root: Path) -> None:
    write(
        root,
        '# gitops-dsf.yaml\nspec:\n  git: {url: "https://git.example.com/platform/fleet.git"}\n  output:'
        " {shards: 1}\n",
    )
    grow(root, 501)


BUILDERS: dict[str, Callable[[Path], None]] = {
    **{code: shell(code) for code in ("DSF005", "DSF008", "DSF009", "DSF023")},
    "DSF010": nothing,
    "DSF120": many_writes,
    "DSF320": large_decision,
    "DSF153": large_hub_configuration,
    "DSF501": large_work,
    "DSF502": full_shard,
}


def build(root: Path, code: str) -> None:
    root.mkdir()
    if code in BUILDERS:
        BUILDERS[code](root)
        return
    entry = next(entry for entry in ENTRIES if entry.code == code)
    example = entry.example("bad")
    assert example is not None, f"the entry of {code} has no YAML: add a function to BUILDERS"
    write(root, example)


def printed(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, str]]:
    """Code and place of each finding, from the terminal's text."""
    monkeypatch.chdir(root)
    main(["validate"])
    return [(code, place) for place, code in LINE.findall(capsys.readouterr().out)]


def test_every_code_has_a_place_in_the_table() -> None:
    assert list(PLACES) == list(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_printed_at_its_line_and_column(
    code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "fleet", code)
    found = [place for name, place in printed(tmp_path / "fleet", capsys, monkeypatch) if name == code]
    assert found[:1] == [PLACES[code]]


@pytest.mark.parametrize(
    ("code", "fewer"),
    [("DSF120", lambda root: many_writes(root, 1_195)), ("DSF320", lambda root: large_decision(root, 98))],
)
def test_below_the_bound_there_is_no_finding(
    code: str,
    fewer: Callable[[Path], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fewer(tmp_path)
    assert code not in {found for found, _ in printed(tmp_path, capsys, monkeypatch)}
