"""Files whose every line is a mistake, up to 8 MiB, the largest that is read.

What is wrong is said with bounded output and memory, and how much more there is.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from gitops_dsf.repository.load import load_text
from tests.support.commandline import gitops_dsf
from tests.support.repositories import BASE

SIZE = 8 << 20
SCORER = (
    "apiVersion: dynamic-scoring.open-cluster-management.io/v1alpha1\nkind: DynamicScorer\n"
    "metadata: {name: big}\nspec:\n"
)


def _fields(line: str, *, documents: int = 1) -> str:
    """Documents of a scorer, each of 1 MiB, whose spec has lines like this one, each with a
    number.
    """
    count = ((1 << 20) - len(SCORER) - 16) // (len(line) + 6)
    one = SCORER + "".join(
        f"  {line.format(number)}\n" for number in range(100_000, 100_000 + count)
    )
    return "---\n".join([one[: (1 << 20) - 8].rpartition("\n")[0] + "\n"] * documents)


SHAPES: Final[dict[str, Callable[[], str]]] = {
    "documents that are no objects": lambda: "---\n1\n" * (SIZE // 6),
    "documents of an unknown kind": lambda: "---\na: 1\n" * (SIZE // 9),
    "unknown fields": lambda: _fields("f{}: 1"),
    # Two documents need no more memory than one, but for their texts. This shape is the cheapest
    # for that.
    "fields written twice": lambda: _fields("description: {}", documents=2),
    "values that readers disagree about": lambda: _fields("f{}: yes"),
}
"""Each text is made where it is needed, and not wherever the module is read."""
ALWAYS = {"documents that are no objects", "unknown fields"}
"""One shape of many documents and one of a large document. The others take `make soak`."""

_MEASURED = """
import sys
from pathlib import Path
from gitops_dsf.cli.main import main
code = main()
# Of this program alone: getrusage would begin with the size of the process that started it.
[peak] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(code, peak.split()[1], file=sys.stderr)
"""  # noqa: E501


def _fleet(folder: Path, text: str) -> Path:
    for name, content in BASE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / "scorers/big.yaml").write_text(text)
    return folder


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "shape",
    [shape if shape in ALWAYS else pytest.param(shape, marks=pytest.mark.soak) for shape in SHAPES],
)
def test_findings_are_bounded_and_say_how_many_more_there_are(tmp_path: Path, shape: str) -> None:
    folder = _fleet(tmp_path, SHAPES[shape]())
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, "validate", str(folder), "-o", "json"],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=280,
    )
    code, kilobytes = map(int, done.stderr.splitlines()[-1].split())
    assert code == 1, done.stderr[-2000:]
    assert kilobytes < 400_000
    assert len(done.stdout) < 5_000_000
    found = json.loads(done.stdout)
    assert 1_000 < len(found) < 10_100
    more = [item for item in found if item["code"] in {"DSF030", "DSF008"}]
    assert any("more" in item["message"] for item in more), more


def test_a_document_larger_than_an_object_of_kubernetes_is_one_finding(tmp_path: Path) -> None:
    text = SCORER + f"  description: {'x' * 2_000_000}\n"
    folder = _fleet(tmp_path, f"{text}---\n{SCORER}  nonsense: 1\n")
    done = gitops_dsf("validate", folder, "-o", "json")
    found = json.loads(done.stdout)
    (large,) = (item for item in found if item["code"] == "DSF008")
    assert large["message"].startswith("the document has 2000")
    assert "at most 1500000 bytes" in large["message"]
    assert [item["line"] for item in found if item["code"] == "DSF013"] == [11], (
        "the next one is read"
    )


def test_a_large_fleet_in_one_file_is_read_whole() -> None:
    """Ten thousand clusters with claims, more than a hub of OCM was ever seen to have."""
    cluster = (
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\n"
        "metadata: {{name: c{}, labels: {{env: prod, region: eu}}}}\n"
    )
    whole = "---\n".join(cluster.format(number) for number in range(10_000))
    loaded = load_text(whole, file="clusters/a.yaml")
    assert len(loaded.documents) == 10_000
    assert loaded.diagnostics == ()


@pytest.mark.parametrize(("begin", "line"), [("", 20_000), ("---\n", 20_001)])
def test_documents_above_ten_thousand_are_counted(begin: str, line: int) -> None:
    more = load_text(begin + "---\n".join(["a: 1\n"] * 10_003), file="clusters/a.yaml")
    assert len(more.documents) == 10_000
    (told,) = more.diagnostics
    assert (told.code, told.position.line) == ("DSF008", line)
    assert "3 more documents are not read" in told.message


def test_a_few_thousand_mistakes_are_all_counted(tmp_path: Path) -> None:
    text = SCORER + "".join(f"  f{number}: 1\n" for number in range(1_234))
    done = gitops_dsf("validate", _fleet(tmp_path, text), "-o", "json")
    found = json.loads(done.stdout)
    (rest,) = (item for item in found if item["code"] == "DSF030")
    assert rest["severity"] == "error"
    listed = sum(item["file"].endswith("scorers/big.yaml") and item is not rest for item in found)
    assert listed == 1_000
    assert int(rest["message"].split()[0]) >= 234
