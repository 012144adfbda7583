"""The estimate of hub writes that `validate` prints.

Clusters x scorers / refresh, of what is published.
"""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.cli.validate import writes_text
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
    """Of ten clusters one is masked.

    The default TTL is 900 s or ten intervals, whichever is more.
    """
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
    told = "4 clusters, 1 scorer, 0 applications; about one score write every 8 seconds on the hub"
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("per_second", "expected"),
    [
        (0, "no score writes"),
        (0.00867, "about one score write every 2 minutes"),
        (1 / 89, "about one score write every 89 seconds"),
        (0.5, "about one score write every 2 seconds"),
        (0.8, "about 0.8 score writes a second"),
        (12.34, "about 12.3 score writes a second"),
    ],
)
def test_a_rate_is_shown_as_people_say_it(per_second: float, expected: str) -> None:
    assert writes_text(per_second) == expected
