"""Images: the bill of materials, and what the Containerfiles have in common."""

import json
from pathlib import Path

import pytest

from tools import images

ROOT = Path(__file__).parents[3]


def test_the_bill_names_packages_and_distributions() -> None:
    listed = "pypi ruamel.yaml 0.19.1\ndeb/debian libstdc++6 1:12.2+b1\npypi ruamel.yaml 0.19.1\n"
    document = json.loads(images.bill("image", "1.0.0", digest="sha256:00", epoch=0, listed=listed))
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["component"]["purl"] == "pkg:oci/image@sha256%3A00"
    assert document["metadata"]["component"]["version"] == "1.0.0"
    assert [one["purl"] for one in document["components"]] == [
        "pkg:deb/debian/libstdc%2B%2B6@1%3A12.2%2Bb1",
        "pkg:pypi/ruamel.yaml@0.19.1",
    ]


def test_the_containerfile_of_the_command_line_is_like_the_reconcilers() -> None:
    """The same base, installer, sources and steps."""
    cli, reconciler = (
        (ROOT / f"images/{name}.Containerfile").read_text(encoding="utf-8") for name in ("cli", "reconciler")
    )
    different = ("#", "LABEL", "      org.", "RUN uv export", " && uv pip install", "ENV")
    different += ("EXPOSE", "ENTRY", "CMD")
    same = [
        [line for line in text.splitlines() if not line.startswith(different)] for text in (cli, reconciler)
    ]
    assert same[0] == same[1]
    assert len(same[0]) > 25


def test_a_machine_without_buildah_is_told_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "12")
    assert images.main(["agent", "--out", str(tmp_path)]) == 1
    assert "apt-get install buildah" in capsys.readouterr().err
