"""Laws of acceptance on generated repositories: what is admitted adds no error, and admitting again changes
nothing.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_dsf.diagnostics import Severity
from gitops_dsf.pipeline import check
from gitops_dsf.repository.files import write_files
from gitops_dsf.repository.load import load
from gitops_dsf.repository.model.validate import declare
from gitops_dsf.sync.locks import LockState, weigh
from tests.support.fleets import FleetSources, fleets, write
from tests.support.laws import examples

NAMES = st.sampled_from(["score_a", "score_b", "Score-A", "x" * 300, ""])
QUERIES = st.sampled_from(["", "up", "sum(", "up[5m]"])


def page(name: str, query: str, interval: int) -> dict[str, Any]:
    found: dict[str, Any] = {"scoring": {"params": {}}, "source": {"params": {}}}
    for section, key, value in (
        ("scoring", "name", name),
        ("scoring", "interval", interval),
        ("source", "query", query),
    ):
        if value:
            found[section]["params"][key] = value
    return {key: value for key, value in found.items() if value["params"]}


@given(fleets(), st.lists(st.builds(page, NAMES, QUERIES, st.integers(-1, 90)), min_size=5, max_size=5))
@settings(examples(12))
def test_what_is_admitted_adds_no_error(sources: FleetSources, pages: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as folder:
        root = write(Path(folder) / "fleet", sources)
        files, refused = admitted(root, pages)
        write_files(root, files)
        assert [item for item in check(root).diagnostics if item.severity is Severity.ERROR] == []
        again, refused_again = admitted(root, pages)
        assert again == {file: (root / file).read_text(encoding="utf-8") for file in again}
        assert set(refused_again) == set(refused)


def admitted(root: Path, pages: list[dict[str, Any]]) -> tuple[dict[str, str], list[str]]:
    loaded = load(root)
    declared = declare(loaded)
    full = [item.name for item in declared.scorers if item.value.spec.config_sync_mode == "Full"]
    texts = {file.relative_to(root).as_posix(): file.read_text("utf-8") for file in root.glob("locks/*.yaml")}
    answers = dict(zip(full, pages, strict=False))
    plan = weigh(loaded=loaded, declared=declared, texts=texts, answers=answers)
    refused = [item.scorer for item in plan.outcomes if item.verdict is LockState.REFUSED]
    return dict(plan.files), refused
