"""The example of the documentation is a snapshot."""

import re
from datetime import UTC, datetime
from pathlib import Path

from gitops_dsf.hub.placements import decision_of
from gitops_dsf.hubreader.files import from_contents

PAGE = Path(__file__).parents[3] / "docs/decisions/preview.md"


def test_the_documented_example_is_read() -> None:
    (example,) = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
        if "HubSnapshot" in block
    ]
    snapshot = from_contents([("example.yaml", example.encode())], origin="docs")
    assert snapshot.observed_at == datetime(2026, 6, 1, tzinfo=UTC)
    published = snapshot.published("cpu-headroom", "eu-west-1")
    assert published is not None
    assert (dict(published.items()), dict(published.raw_items())) == (
        {"cpu-headroom": 81},
        {"cpu-headroom": 80.4},
    )
    assert snapshot.decisions == (
        decision_of(
            namespace="argocd", name="guestbook-decision-1", placement="guestbook", clusters=("eu-west-1",)
        ),
    )
    assert snapshot.clusters["eu-west-1"].claims == {"platform.open-cluster-management.io": "AWS"}
