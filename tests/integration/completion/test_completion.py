"""TAB in a real shell: the code of `completion SHELL` is read by the shell, which then asks gitops-dsf.

bash, fish and zsh, each where it is installed.
"""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_dsf.cli.main import VERBS, main
from tests.support.shells import SHELLS

Offered = Callable[[str], set[str]]


@pytest.fixture(params=sorted(SHELLS))
def offered(request: pytest.FixtureRequest, tmp_path: Path) -> Offered:
    """What the shell offers behind a line, in a folder of its own."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    return lambda line: SHELLS[request.param](line, cwd=tmp_path)


def test_verbs(offered: Offered) -> None:
    assert offered("gitops-dsf ") >= set(VERBS)
    assert offered("gitops-dsf va") == {"validate"}


def test_options_of_a_verb(offered: Offered) -> None:
    assert offered("gitops-dsf render --") >= {"--check", "--stdout", "--part", "--allow-shrink", "--help"}
    assert offered("gitops-dsf validate --s") == {"--strict"}


def test_folders_for_a_folder_and_parts_for_a_part(offered: Offered, tmp_path: Path) -> None:
    (tmp_path / "fleet" / "rendered" / "works-00").mkdir(parents=True)
    (tmp_path / "fleet" / "rendered" / "INVENTORY").touch()
    (tmp_path / "flag.txt").touch()
    assert offered("gitops-dsf validate fl") == {"fleet/"}
    assert offered("gitops-dsf render fleet --stdout --part ") == {"works-00"}


def test_names_of_the_repository_and_revisions(offered: Offered, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet")]) == 0
    subprocess.run(["git", "init", "--quiet", "--initial-branch=trunk", "fleet"], cwd=tmp_path, check=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty"]
    subprocess.run([*git, "--message", "Begin"], cwd=tmp_path / "fleet", check=True)
    for link in ("apps", "clusters", "scorers", ".git"):
        (tmp_path / link).symlink_to(tmp_path / "fleet" / link)
    assert offered("gitops-dsf explain gue") == {"guestbook"}
    assert offered("gitops-dsf explain guestbook eu-") == {"eu-north-1", "eu-west-1"}
    assert offered("gitops-dsf status --scorer cpu") == {"cpu-headroom"}
    assert offered("gitops-dsf diff --base tr") == {"trunk"}
    assert offered("gitops-dsf explain DSF31") >= {"DSF310", "DSF318"}


def test_a_line_that_cannot_be_parsed_offers_nothing_and_says_nothing(offered: Offered) -> None:
    assert offered("gitops-dsf nonsense --") <= {"--help", "--version", "--debug", "--completion"}


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_the_code_is_for_the_shell_and_names_the_program(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--completion", shell]) == 0
    code = capsys.readouterr().out
    assert "gitops-dsf" in code
    assert code.endswith("\n")
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run(
            [program, "-n"], input=code, capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--completion", "cmd"]) == 2
    assert "invalid choice: 'cmd'" in capsys.readouterr().err
