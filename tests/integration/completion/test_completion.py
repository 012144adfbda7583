"""TAB in a real shell: the code of `completion SHELL` is read by the shell, which then asks gitops-dsf."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitops_dsf.cli.main import VERBS, main

BIN = Path(sys.executable).parent
ASK_BASH = """
source <(gitops-dsf completion bash)
COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_TYPE=9
if [ "${{COMP_LINE% }}" != "$COMP_LINE" ]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_python_argcomplete gitops-dsf "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def environment() -> dict[str, str]:
    return {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "HOME": "/nonexistent"}


def offered(line: str, *, cwd: Path) -> set[str]:
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "--norc", "-c", ASK_BASH.format(line=line)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return {candidate.rstrip() for candidate in done.stdout.splitlines() if candidate.strip()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
class TestBash:
    def test_verbs(self, tmp_path: Path) -> None:
        assert offered("gitops-dsf ", cwd=tmp_path) >= set(VERBS)
        assert offered("gitops-dsf va", cwd=tmp_path) == {"validate"}

    def test_options_of_a_verb(self, tmp_path: Path) -> None:
        assert offered("gitops-dsf render --", cwd=tmp_path) >= {"--check", "--stdout", "--part", "--allow-shrink", "--help"}
        assert offered("gitops-dsf validate --s", cwd=tmp_path) == {"--strict"}

    def test_values(self, tmp_path: Path) -> None:
        assert offered("gitops-dsf validate --format ", cwd=tmp_path) == {"text", "json", "github", "sarif"}
        assert offered("gitops-dsf completion ", cwd=tmp_path) >= {"bash", "fish", "zsh"}

    def test_folders_for_a_folder_and_parts_for_a_part(self, tmp_path: Path) -> None:
        (tmp_path / "fleet" / "rendered" / "works-00").mkdir(parents=True)
        (tmp_path / "fleet" / "rendered" / "INVENTORY").touch()
        (tmp_path / "flag.txt").touch()
        assert offered("gitops-dsf validate fl", cwd=tmp_path) == {"fleet/"}
        assert offered("gitops-dsf render fleet --stdout --part ", cwd=tmp_path) == {"works-00"}

    def test_a_line_that_cannot_be_parsed_offers_nothing_and_says_nothing(self, tmp_path: Path) -> None:
        assert offered("gitops-dsf nonsense --", cwd=tmp_path) <= {"--help", "--version", "--debug"}


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_the_code_is_for_the_shell_and_names_the_program(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    code = capsys.readouterr().out
    assert "gitops-dsf" in code
    assert code.endswith("\n")
    program = shutil.which(shell)
    if program is not None:
        done = subprocess.run([program, "-n"], input=code, capture_output=True, text=True, timeout=30, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_another_shell_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "cmd"]) == 2
    assert "invalid choice: 'cmd'" in capsys.readouterr().err
