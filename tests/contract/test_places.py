"""Every code at its line and column, as `validate` prints it: the repository of
docs/reference/diagnostics.md with the entry's bad example, or with the one here.
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
    "DSF001": "scorers/cpu.yaml:6:24",
    "DSF002": "config/masks.yaml:2:1",
    "DSF003": "clusters/edge.yaml:5:23",
    "DSF004": "clusters/prod.yaml:7:11",
    "DSF005": "clusters/cologne.yaml:1:25",
    "DSF006": "scorers/cpu.yaml:19:85",
    "DSF007": "scorers/cpu.yaml:19:46",
    "DSF008": "clusters/fleet.yaml:1:1",
    "DSF009": "clusters/second.yaml:1:1",
    "DSF010": "gitops-dsf.yaml:1:1",
    "DSF011": "clusters/second.yaml:1:1",
    "DSF012": "clusters/second.yaml:2:7",
    "DSF013": "scorers/cpu.yaml:20:3",
    "DSF014": "scorers/cpu.yaml:15:12",
    "DSF015": "scorers/cpu.yaml:18:17",
    "DSF016": "scorers/cpu.yaml:20:21",
    "DSF017": "apps/cluster.yaml:2:1",
    "DSF018": "clusters/second.yaml:4:9",
    "DSF019": "clusters/edge.yaml:5:12",
    "DSF020": "scorers/cpu.yaml:8:19",
    "DSF021": "scorer:1:1",
    "DSF022": "scorers/cpu.yaml:19:3",
    "DSF023": "gitops-dsf.yaml:1:1",
    "DSF024": "scorers/cpu.yaml:6:5",
    "DSF101": "scorers/mean.yaml:14:13",
    "DSF102": "scorers/mean.yaml:14:13",
    "DSF103": "scorers/cpu.yaml:7:14",
    "DSF104": "scorers/cpu.yaml:7:14",
    "DSF105": "scorers/cpu.yaml:19:25",
    "DSF106": "scorers/cpu.yaml:16:5",
    "DSF107": "scorers/cpu.yaml:18:17",
    "DSF108": "scorers/cpu.yaml:14:13",
    "DSF109": "scorers/cpu.yaml:12:25",
    "DSF110": "scorers/cpu.yaml:12:14",
    "DSF111": "scorers/cpu.yaml:12:14",
    "DSF112": "scorers/cpu.yaml:20:25",
    "DSF113": "scorers/cpu.yaml:20:25",
    "DSF114": "scorers/cpu.yaml:8:19",
    "DSF115": "scorers/cpu.yaml:18:17",
    "DSF116": "scorers/cpu.yaml:15:11",
    "DSF117": "locks/cpu.yaml:6:28",
    "DSF118": "locks/cpu.yaml:3:18",
    "DSF119": "scorers/cpu.yaml:20:20",
    "DSF122": "scorers/cpu.yaml:9:18",
    "DSF123": "scorers/cpu.yaml:12:27",
    "DSF126": "scorers/cpu.yaml:19:35",
    "DSF127": "scorers/cpu.yaml:20:28",
    "DSF128": "scorers/cpu.yaml:20:33",
    "DSF129": "scorers/cpu.yaml:20:28",
    "DSF130": "scorers/cpu.yaml:20:35",
    "DSF131": "scorers/cpu.yaml:19:11",
    "DSF132": "scorers/mean.yaml:11:7",
    "DSF133": "scorers/mean.yaml:7:18",
    "DSF134": "scorers/cpu.yaml:21:3",
    "DSF135": "scorers/mean.yaml:17:25",
    "DSF136": "scorers/mean.yaml:10:14",
    "DSF137": "scorers/mean.yaml:8:10",
    "DSF138": "scorers/mean.yaml:11:5",
    "DSF139": "scorers/mean.yaml:8:10",
    "DSF140": "config/sources.yaml:3:18",
    "DSF141": "config/sources.yaml:7:7",
    "DSF142": "config/sources.yaml:5:52",
    "DSF143": "config/sources.yaml:7:7",
    "DSF145": "scorers/cpu.yaml:9:46",
    "DSF146": "scorers/cpu.yaml:10:5",
    "DSF147": "scorers/cpu.yaml:9:66",
    "DSF148": "scorers/mean.yaml:7:3",
    "DSF149": "scorers/mean.yaml:10:14",
    "DSF150": "scorers/mean.yaml:11:38",
    "DSF151": "scorers/mean.yaml:11:38",
    "DSF152": "scorers/cpu.yaml:19:5",
    "DSF153": "gitops-dsf.yaml:4:9",
    "DSF154": "config/sources.yaml:6:14",
    "DSF155": "config/sources.yaml:6:29",
    "DSF157": "gitops-dsf.yaml:9:12",
    "DSF162": "gitops-dsf.yaml:13:9",
    "DSF166": "scorers/cpu.yaml:10:11",
    "DSF169": "gitops-dsf.yaml:10:26",
    "DSF170": "gitops-dsf.yaml:11:24",
    "DSF175": "gitops-dsf.yaml:7:10",
    "DSF176": "scorers/cpu.yaml:19:11",
    "DSF191": "gitops-dsf.yaml:9:5",
    "DSF201": "config/masks.yaml:6:25",
    "DSF202": "config/masks.yaml:7:40",
    "DSF203": "scorers/cpu.yaml:20:3",
    "DSF204": "config/masks.yaml:6:59",
    "DSF205": "scorers/cpu.yaml:4:9",
    "DSF206": "scorers/cpu.yaml:20:61",
    "DSF207": "config/masks.yaml:4:9",
    "DSF208": "gitops-dsf.yaml:1:1",
    "DSF301": "apps/web.yaml:13:20",
    "DSF302": "apps/web.yaml:15:15",
    "DSF303": "apps/web.yaml:14:15",
    "DSF304": "apps/web.yaml:14:15",
    "DSF305": "apps/web.yaml:15:15",
    "DSF306": "apps/web.yaml:16:21",
    "DSF307": "apps/web.yaml:13:63",
    "DSF308": "apps/web.yaml:13:45",
    "DSF309": "apps/web.yaml:13:19",
    "DSF310": "apps/web.yaml:13:5",
    "DSF311": "apps/web.yaml:4:9",
    "DSF312": "apps/batch.yaml:7:21",
    "DSF313": "apps/batch.yaml:8:3",
    "DSF314": "apps/batch.yaml:8:22",
    "DSF315": "apps/batch.yaml:8:3",
    "DSF316": "apps/batch.yaml:12:15",
    "DSF317": "apps/batch.yaml:8:53",
    "DSF318": "apps/web.yaml:15:15",
    "DSF320": "apps/web.yaml:11:3",
    "DSF321": "apps/batch.yaml:8:16",
    "DSF322": "apps/web.yaml:14:15",
    "DSF323": "apps/batch.yaml:8:107",
    "DSF324": "apps/batch.yaml:12:37",
    "DSF325": "apps/batch.yaml:8:3",
    "DSF326": "apps/web.yaml:11:20",
    "DSF327": "apps/web.yaml:12:3",
    "DSF335": "apps/web.yaml:9:13",
    "DSF336": "apps/web.yaml:8:16",
    "DSF340": "clusters/prod.yaml:7:52",
    "DSF341": "apps/web.yaml:10:27",
    "DSF342": "apps/web.yaml:9:22",
    "DSF343": "apps/web.yaml:9:24",
    "DSF344": "apps/web.yaml:9:17",
    "DSF345": "apps/set.yaml:14:19",
    "DSF346": "apps/web.yaml:9:7",
    "DSF347": "apps/web.yaml:6:131",
    "DSF401": "apps/web.yaml:5:14",
    "DSF402": "apps/set.yaml:9:7",
    "DSF403": "apps/set.yaml:11:9",
    "DSF404": "apps/set.yaml:16:16",
    "DSF405": "apps/set.yaml:10:23",
    "DSF406": "apps/set.yaml:7:34",
    "DSF407": "apps/set.yaml:11:85",
    "DSF408": "apps/set.yaml:15:31",
    "DSF501": "scorers/cpu.yaml:4:9",
    "DSF502": "gitops-dsf.yaml:11:20",
    "DSF601": "tests/mean.yaml:6:62",
    "DSF602": "tests/mean.yaml:9:50",
    "DSF603": "tests/mean.yaml:10:9",
    "DSF604": "tests/mean.yaml:6:64",
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


def shell(command: str) -> Callable[[Path], None]:
    """The base repository after a command."""

    def run(root: Path) -> None:
        (root.parent / "elsewhere").mkdir(exist_ok=True)
        (root.parent / "elsewhere" / "clusters.yaml").write_text("{}")
        write(root, "")
        subprocess.run(["bash", "-c", command], cwd=root, check=True)

    return run


def nothing(root: Path) -> None:
    """An empty folder."""


def large_decision(root: Path, clusters: int = 99) -> None:
    write(root, "# apps/web.yaml\nspec:\n  placement: {clusterSets: [global]}\n")
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
        '# gitops-dsf.yaml\nspec:\n  git: {url: "https://git.example.com/team/fleet.git"}\n  output:'
        " {shards: 1}\n",
    )
    grow(root, 501)


BUILDERS: dict[str, Callable[[Path], None]] = {
    "DSF002": shell(r"printf 'spec:\n\tmasks: []\n' > config/masks.yaml"),
    "DSF005": shell(r"printf 'kind: ManagedCluster # K\xf6ln\n' > clusters/cologne.yaml"),
    "DSF008": shell("yes '# padding' | head -c 9000000 > clusters/fleet.yaml"),
    "DSF009": shell("ln -s ../../elsewhere/clusters.yaml clusters/second.yaml"),
    "DSF010": nothing,
    "DSF011": shell("echo '- prod-2' > clusters/second.yaml"),
    "DSF018": shell("cp clusters/prod.yaml clusters/second.yaml"),
    "DSF023": shell("rm gitops-dsf.yaml"),
    "DSF153": large_hub_configuration,
    "DSF208": shell("rm clusters/*.yaml"),
    "DSF320": large_decision,
    "DSF501": large_work,
    "DSF502": full_shard,
}
MASK = "{clusterName: edge-1, scoreName: cpu_forecast}"
SERIES = "{scorer: cpu-mean, cluster: prod-1, values: 1 2}"
POLICY = "apps/batch.yaml spec prioritizerPolicy: {mode: Exact, configurations: "
FIELDS = {
    "DSF003": "clusters/edge.yaml metadata labels: {env: prod, env: edge}",
    "DSF006": "scorers/cpu.yaml spec scoring arguments: {matrix: " + "[" * 70,
    "DSF013": "scorers/cpu.yaml spec scoreAgregation: Max",
    "DSF015": 'scorers/cpu.yaml spec scoring params interval: "60"',
    "DSF016": "scorers/cpu.yaml spec scoreAggregation: Average",
    "DSF101": "scorers/mean.yaml spec scoring params name: cpu_forecast",
    "DSF102": "scorers/mean.yaml spec scoring params name: CPU-forecast",
    "DSF107": "scorers/cpu.yaml spec scoring params interval: 0",
    "DSF108": "scorers/cpu.yaml spec source params range: 864000",
    "DSF126": "scorers/cpu.yaml spec scoring auth: {tokenSecretRef: {name: gitops-dsf-agent-x, key: token}}",
    "DSF131": "scorers/cpu.yaml spec scoring host: http://169.254.169.254",
    "DSF133": "scorers/mean.yaml spec source: {type: None}",
    "DSF137": "scorers/mean.yaml spec source ref: platfrom",
    "DSF142": "config/sources.yaml spec variants: [{host: http://m.svc, headers: [{name: Host, value: m}]}]",
    "DSF146": "scorers/cpu.yaml spec source type: Kubernetes",
    "DSF147": "scorers/cpu.yaml spec source: {type: Kubernetes, params: {query: nodes_ready, range: 60}}",
    "DSF166": "scorers/cpu.yaml spec source host: http://localhost:9090",
    "DSF170": "gitops-dsf.yaml spec agent resources limits: {memory: 64Mi}",
    "DSF175": "gitops-dsf.yaml spec git url: https://git.example.com/platform/fleet.git",
    "DSF201": "config/masks.yaml spec masks: [{clusterName: egde-1, scoreName: cpu_forecast}]",
    "DSF204": "config/masks.yaml spec masks: [" + ", ".join(2 * [MASK]) + "]",
    "DSF205": 'config/masks.yaml spec masks: [{clusterName: "*", scoreName: cpu_forecast}]',
    "DSF207": "config/masks.yaml metadata name: masks",
    "DSF301": "apps/web.yaml spec scores: [scorer: cpu_forecast]",
    "DSF307": "apps/web.yaml spec scores: [{scorer: cpu-forecast}, {scorer: cpu-mean, weight: 0}]",
    "DSF308": "apps/web.yaml spec scores: [{scorer: cpu-forecast}, {scorer: cpu-forecast, weight: 2}]",
    "DSF309": "apps/web.yaml spec placement clusterSets: [prod]",
    "DSF311": f"apps/web.yaml metadata name: {'long-' * 13}name",
    "DSF312": "apps/batch.yaml spec numberOfClusters: -1",
    "DSF313": POLICY + "[{scoreCoordinate: {type: BuiltIn, builtIn: Spread}, weight: 1}]}",
    "DSF317": POLICY + "[{scoreCoordinate: {type: BuiltIn, builtIn: Steady}}]}",
    "DSF322": "scorers/cpu.yaml spec suspend: true",
    "DSF323": POLICY
    + "[{scoreCoordinate: {type: AddOn, addOn: {resourceName: x, scoreName: x}}, weight: 1}]}",
    "DSF326": "apps/web.yaml spec placement: {ref: frontend}",
    "DSF335": "apps/web.yaml spec application source path: /deploy",
    "DSF340": "clusters/prod.yaml metadata labels cluster.open-cluster-management.io/clusterset: prodd",
    "DSF346": "apps/web.yaml spec application source chart: web",
    "DSF347": "apps/web.yaml spec application: {destinationNamespace: web, sources: [{repoURL: http://x.svc,"
    " chart: x, targetRevision: 1.2.3, helm: {valueFiles: [$values/x.yaml]}}]}",
    "DSF401": "apps/web.yaml metadata namespace: web",
    "DSF404": 'apps/set.yaml spec template spec project: "{{ .name }}"',
    "DSF407": "apps/batch.yaml metadata name: bach",
    "DSF601": "tests/mean.yaml spec given series: [{scorer: cpu-mean, cluster: prod-1, values: 0.4 O.5}]",
    "DSF602": "tests/mean.yaml spec expect scores: [{at: 1m, scorer: cpu-mean, cluster: prod-2, value: 50}]",
    "DSF604": "tests/mean.yaml spec given series: [" + ", ".join(2 * [SERIES]) + "]",
}
"""One changed field in place of an example: file, keys and value."""


def changed(field: str) -> str:
    """The example that changes one field."""
    where, _, value = field.partition(": ")
    file, *keys = where.split(" ")
    nested = "".join(f"\n{'  ' * depth}{key}:" for depth, key in enumerate(keys))
    return f"# {file}{nested} {value}\n"


def build(root: Path, code: str) -> None:
    root.mkdir()
    if code in BUILDERS:
        BUILDERS[code](root)
        return
    entry = next(entry for entry in ENTRIES if entry.code == code)
    write(root, entry.example("bad") or changed(FIELDS[code]))


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


def test_below_the_bound_there_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    large_decision(tmp_path, 98)
    assert "DSF320" not in {found for found, _ in printed(tmp_path, capsys, monkeypatch)}
