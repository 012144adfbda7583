"""The estimate of hub writes that `validate` prints: clusters x scorers / refresh, of what is published."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from tests.support import rendering
from tests.support.repositories import MANY, checked_fleet, masks, scorer

FLEET = "---\n".join(MANY.split("---\n")[:10])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", 9 / 450),
        ("scoreTTLSeconds: 100", 9 / 50),
        ("suspend: true", 0),
        ("scoreDestination: None", 0),
    ],
)
def test_every_published_score_is_written_at_half_of_its_ttl(spec: str, expected: float) -> None:
    """Of ten clusters one is masked. The default TTL is 900 s or ten intervals, whichever is more."""
    text = scorer("  scoring:", f"  {spec}\n  scoring:")
    masked = masks("{clusterName: c0, scoreName: cpu_score}")
    found = checked_fleet(scorers=text, clusters=FLEET, config=masked)
    assert found.hub_writes_per_second == pytest.approx(expected)
    slow = checked_fleet(
        scorers=text.replace("interval: 60", "interval: 300"), clusters=FLEET, config=masked
    )
    assert slow.hub_writes_per_second == pytest.approx(
        expected if "TTL" in spec else expected * 0.3
    )


def test_validate_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rendering.rendered(tmp_path, rendering.scorer("cpu", scoreTTLSeconds=60), clusters=4)
    assert main(["validate", str(tmp_path)]) == 0
    told = "4 clusters, 1 scorer, 0 applications; about 0.133 score writes per second on the hub"
    assert told in capsys.readouterr().err
