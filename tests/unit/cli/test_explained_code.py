"""`explain` prints title, explanation and examples of a code."""

from pathlib import Path

import pytest

from gitops_dsf.cli.main import main
from gitops_dsf.diagnostics.code import FindingCode
from gitops_dsf.diagnostics.codes import CODES, RETIRED


@pytest.mark.parametrize("code", CODES.values(), ids=lambda code: code.id)
def test_every_code_is_explained(code: FindingCode, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code.id]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{code.id} {code.title} ({code.severity})\n\n")
    assert code.explanation.split()[0] in out
    assert "](" not in out
    assert ("\nWith this finding:\n\n    # " in out) == bool(code.bad)
    assert ("\nWithout it:\n\n    # " in out) == bool(code.good)


def test_one_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "dsf310"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "DSF310 no eligible cluster (error)\n\nSets, selector and tolerations leave no cluster"
    )
    assert "\nWith this finding:\n\n    # apps/web.yaml\n    spec:\n" in out
    assert "{env: staging}" in out.partition("Without it:")[0]
    assert "{env: prod}" in out.partition("Without it:")[2]


@pytest.mark.parametrize("written", ["DSF356", "dsf356"])
def test_a_code_beside_a_folder(
    written: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """People name the repository as for other verbs, and a code is the same in each."""
    assert main(["init", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["explain", written]) == 0
    alone = capsys.readouterr().out
    assert main(["explain", written, str(tmp_path)]) == 0
    assert capsys.readouterr().out == alone
    assert main(["explain", "guestbook", str(tmp_path)]) == 0
    assert "\nargocd/guestbook asks for 1 of the clusters in " in capsys.readouterr().out


@pytest.mark.parametrize("others", [["."], ["eu-west-1"], ["eu-west-1", "fleet"]])
def test_capital_letters_are_always_a_code(
    others: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No Placement has such a name, so nothing else can be meant."""
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "DSF356", *others]) == 0
    assert capsys.readouterr().out.startswith("DSF356 ")


def test_codes_that_begin_so_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "DSF"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CODES)
    assert "DSF310  error    no eligible cluster" in lines
    assert main(["explain", "DSF31"]) == 0
    some = capsys.readouterr().out.splitlines()
    assert some == [line for line in lines if line.startswith("DSF31")]


@pytest.mark.parametrize("word", ["DSF998", "DSF9999", *sorted(RETIRED)])
def test_an_unknown_code(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", word]) == 2
    said = f"{word} is no longer reported\n" if word in RETIRED else f"there is no code {word}; "
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", ["dsf", "dsf3", "dsf31", "dsf998", "dsf3100"])
def test_a_name_that_is_no_code_is_of_a_placement(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only a code that exists is found in small letters; a Placement's name has no others."""
    assert main(["init", str(tmp_path)]) == 0
    guestbook = (tmp_path / "apps/guestbook.yaml").read_text(encoding="utf-8")
    (tmp_path / "apps/other.yaml").write_text(
        guestbook.replace("name: guestbook\n", f"name: {name}\n"), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["explain", name]) == 0
    assert f"\nargocd/{name} asks for 1 of the clusters in " in capsys.readouterr().out
