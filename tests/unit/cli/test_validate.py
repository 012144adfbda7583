"""The verb `validate`.

Formats, streams, exit codes, and files in the repository that they belong to.
"""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.diagnostics.codes import CODES
from tests.support import yamlfast

SETTINGS = """\
apiVersion: gitops-dsf.io/v1alpha1
kind: FleetRepository
metadata: {name: fleet}
spec:
  git: {url: "https://git.example.com/fleet.git"}
  agent: {image: r.example.com/agent}
  reconciler: {image: r.example.com/reconciler}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "gitops-dsf.yaml").write_text(SETTINGS)
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "c.yaml").write_text(
        "apiVersion: cluster.open-cluster-management.io/v1\nkind:"
        " ManagedCluster\nmetadata: {name: c1}\n"
    )
    return tmp_path


@pytest.fixture
def bad(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(root)
    (root / "clusters" / "a,b: 100%.yaml").write_text("apiVersion: v1\nkind: ManagedClustr\n")
    return root


def test_a_valid_repository_is_0_and_silent_on_stdout(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(root)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("no mistakes found\n1 cluster, 0 scorers")


def test_warnings_fail_only_with_strict(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "clusters" / "c.yaml").unlink()
    assert main(["validate", str(root)]) == 0
    assert main(["validate", "--strict", str(root)]) == 1
    assert "warning DSF208" in capsys.readouterr().out


@pytest.mark.usefixtures("bad")
def test_text_names_file_line_column_code_and_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 1
    out, err = capsys.readouterr()
    assert (
        out == "clusters/a,b: 100%.yaml:2:7: error DSF012: kind ManagedClustr is not read in a"
        " fleet repository\n"
        "    did you mean ManagedCluster?\n"
    )
    assert err == "1 error, 0 warnings in 1 file\n"


def test_paths_are_relative_to_the_working_directory(
    bad: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bad.parent)
    main(["validate", bad.name])
    assert capsys.readouterr().out.startswith(f"{bad.name}/clusters/")
    monkeypatch.chdir("/")
    main(["validate", str(bad)])
    assert capsys.readouterr().out.startswith(str(bad).removeprefix("/"))
    monkeypatch.chdir(bad / "clusters")
    main(["validate", ".."])
    assert capsys.readouterr().out.startswith(f"{bad}/clusters/")


@pytest.mark.usefixtures("bad")
def test_github_annotations_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "-o", "github"]) == 1
    assert (
        capsys.readouterr().out
        == "::error file=clusters/a%2Cb%3A 100%25.yaml,line=2,col=7,title=DSF012::"
        "kind ManagedClustr is not read in a fleet repository (did you mean ManagedCluster?)\n"
    )


@pytest.mark.usefixtures("bad")
def test_sarif_has_rules_results_and_places(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "-o", "sarif"]) == 1
    log = json.loads(capsys.readouterr().out)
    [run] = log["runs"]
    [result] = run["results"]
    assert log["version"] == "2.1.0"
    [rule] = run["tool"]["driver"]["rules"]
    assert rule.pop("help")["text"].startswith(
        "The kind, or the apiVersion of the kind, is not one"
    )
    assert rule == {
        "id": "DSF012",
        "shortDescription": {"text": CODES["DSF012"].title},
        "defaultConfiguration": {"level": "error"},
    }
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("DSF012", 0, "error")
    place = result["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "clusters/a%2Cb%3A%20100%25.yaml"},
        "region": {"startLine": 2, "startColumn": 7},
    }


def terminal(programs: Path, bad: Path, environment: dict[str, str]) -> str:
    """What validate writes to a real pseudo-terminal."""
    import pty

    leader, follower = pty.openpty()
    with subprocess.Popen(
        [programs / "gitops-dsf", "validate", str(bad)],
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    ) as process:
        process.wait(timeout=60)
    os.close(follower)
    text = os.read(leader, 65_536).decode()
    os.close(leader)
    return text


def test_colour_is_for_terminals_that_want_it(
    bad: Path, warm_programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["validate", str(bad)])
    assert "\033" not in capsys.readouterr().out
    assert "\033[31m" in terminal(warm_programs, bad, {"TERM": "xterm"})
    assert "\033" not in terminal(warm_programs, bad, {"TERM": "xterm", "NO_COLOR": "1"})
    assert "\033" not in terminal(warm_programs, bad, {"TERM": "dumb"})


@pytest.mark.parametrize("style", ["text", "github", "json", "sarif"])
def test_values_and_names_of_files_neither_colour_nor_break_the_output(
    root: Path, style: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "scorers").mkdir()
    text = (
        'apiVersion: v1\nkind: "\\e[31mred\\n::error::forged\\u202e\\u2028"\nmetadata: {name: a}\n'
    )
    (root / "scorers" / "a\x1b[32m.yaml").write_text(text)
    assert main(["validate", str(root), "-o", style]) == 1
    out = capsys.readouterr().out
    assert "\\x1b[31mred" in out
    assert not set(out) & {"\x1b", "\u202e", "\u2028"}
    assert not any(line.startswith("::error::forged") for line in out.splitlines())


BLOG = """\
# copied
apiVersion: dynamic-scoring.open-cluster-management.io/v1
kind: DynamicScorer
metadata: {name: cpu-predictor, namespace: gitops-dsf}
spec:
  name: cpu-predictor  # of the score
  source:
    type: prometheus
    endpoint:
      # in each cluster
      host: http://prometheus.monitoring.svc:9090
      path: /api/v1/query_range
    query:
      query: "rate(container_cpu_usage_seconds_total[5m])"
      range: 1h  # enough
      step: "60"
  scoring:
    endpoint: {host: http://cpu-predictor-api.default.svc:8000, path: /scoring}
    params:
      model: "linear_regression"
      horizon: 3600
"""
MENDED = """\
# copied
apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1
kind: DynamicScorer
metadata: {name: cpu-predictor, namespace: gitops-dsf}
spec:
  description: cpu-predictor
  configURL: http://cpu-predictor-api.default.svc:8000/config
  configSyncMode: None
  source:
    type: Prometheus
    # in each cluster
    host: http://prometheus.monitoring.svc:9090
    path: /api/v1/query_range
    params:
      query: "rate(container_cpu_usage_seconds_total[5m])"
      range: 3600 # enough
      step: 60
  scoring:
    params:
      interval: 60
      name: cpu-predictor # of the score
    host: http://cpu-predictor-api.default.svc:8000
    path: /scoring
    arguments:
      model: "linear_regression"
      horizon: 3600
"""


def test_fix_writes_hints_and_keeps_comments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "blog.yaml"
    file.write_text(BLOG)
    file.chmod(0o640)
    assert main(["validate", str(file)]) == 1
    assert (
        "1 error, 0 warnings in 1 file; gitops-dsf validate --fix mends 1"
        in capsys.readouterr().err
    )
    assert main(["validate", "--fix", str(file)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    fixed = (
        f"{file}:8:11: fixed: type: prometheus is the spelling of an older text; write Prometheus\n"
    )
    assert fixed in shown.err
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.read_text() == MENDED


def test_fix_leaves_what_people_must_decide(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "config").mkdir()
    masks = (
        "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind:"
        " DynamicScoringConfig\n"
    )
    file = root / "config" / "m.yaml"
    file.write_text(
        f"{masks}metadata: {{name: dynamic-scoring-config, labels: {{a: 017}}}}\n"
        "spec: {mask: [{clusterName: 7, scoreName: a, scoreNam: b}]}\n"
    )
    assert main(["validate", "--fix", str(root)]) == 1
    assert '{a: "017"}' in file.read_text()
    assert 'spec: {masks: [{clusterName: "7", scoreName: a, scoreNam: b}]}' in file.read_text()
    assert "DSF013: scoreNam is not a field" in capsys.readouterr().out


def test_fix_finds_the_document_of_each_finding(tmp_path: Path) -> None:
    """Edits of one document move the lines of the next."""
    first, second = BLOG, BLOG.replace("cpu-predictor", "mem")
    for name, text in (("first", first), ("second", second), ("both", f"{first}---\n{second}")):
        (tmp_path / name).write_text(text)
        assert main(["validate", "--fix", str(tmp_path / name)]) == 0
    both = (tmp_path / "both").read_text()
    assert both == f"{(tmp_path / 'first').read_text()}---\n{(tmp_path / 'second').read_text()}"


CLUSTER = (
    "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:"
    " {name: NAME}\n"
)


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with the same cluster, and one with a misspelt field."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gitops-dsf.yaml").write_text(SETTINGS)
    (tmp_path / "clusters").mkdir()
    for name in ("a", "b"):
        (tmp_path / "clusters" / f"{name}.yaml").write_text(CLUSTER.replace("NAME", "same"))
    (tmp_path / "clusters" / "c.yaml").write_text(CLUSTER.replace("NAME", "c") + "spec: [1]\n")
    return tmp_path


def test_only_findings_about_the_file_are_shown(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "clusters/b.yaml"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("clusters/b.yaml:3:18: error DSF018: ")
    assert "c.yaml:" not in out
    assert main(["validate", "clusters/a.yaml"]) == 0
    assert main(["validate", "clusters/a.yaml", str(fleet / "clusters" / "c.yaml")]) == 1
    assert f"{fleet}/clusters/c.yaml:4:7: error DSF015" in capsys.readouterr().out


@pytest.mark.usefixtures("fleet")
def test_standard_input_is_checked_on_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text, code in (
        (CLUSTER.replace("NAME", "same"), 0),
        (CLUSTER.replace("NAME", "same: 1"), 1),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert main(["validate", "-"]) == code, capsys.readouterr().out
    assert capsys.readouterr().out.startswith("-:3:")


def test_a_file_of_no_repository_is_checked_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scorer.yaml"
    file.write_text("apiVersion: gitops-dsf.io/v1alpha1\nkind: ScoredApplicatio\n")
    assert main(["validate", str(file)]) == 1
    assert "did you mean ScoredApplication?" in capsys.readouterr().out


def test_a_file_that_is_not_there_is_wrong_usage(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", "clusters/a.yaml", "clusters/x.yaml"]) == 2
    assert "clusters/x.yaml is not a file" in capsys.readouterr().err
    assert main(["validate", str(fleet / "clusters"), "clusters/a.yaml"]) == 2


@pytest.mark.usefixtures("fleet")
def test_the_findings_as_yaml(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "clusters/b.yaml", "-o", "json"]) == 1
    expected = json.loads(capsys.readouterr().out)
    assert main(["validate", "clusters/b.yaml", "-o", "yaml"]) == 1
    assert yamlfast.load(capsys.readouterr().out) == expected
    assert main(["validate", "clusters/a.yaml", "-o", "yaml"]) == 0
    assert capsys.readouterr().out == "[]\n"


def test_findings_of_a_code_can_be_errors(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "clusters/x.json").write_text("{}")
    assert main(["validate", str(root)]) == 0
    assert "warning DSF021" in capsys.readouterr().out
    assert main(["validate", str(root), "--error", "DSF021"]) == 1
    assert "error DSF021" in capsys.readouterr().out
    assert main(["validate", str(root), "--error", "DSF001", "--error", "DSF002"]) == 0
    capsys.readouterr()
    assert main(["validate", str(root), "--error", "DSF1"]) == 2
    assert "'DSF1' is not the code of a finding" in capsys.readouterr().err
