"""TAB in a real bash, which reads the code of `--completion bash` and then asks gitops-dsf.

What other shells read is argcomplete's.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_dsf.cli.main import VERBS, main
from gitops_dsf.cli.shell_completion import SHELLS
from tests.hub.controlplane.gitrepository import git
from tests.support.commandline import output_of, program

Offered = Callable[[str], set[str]]


BASH = """
source <(gitops-dsf --completion bash)
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_TYPE=9
if [ "${{COMP_LINE% }}" != "$COMP_LINE" ]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_python_argcomplete gitops-dsf "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def offered(tmp_path: Path) -> Offered:
    """What the completion function offers behind a line, asked as readline does, in a folder of its
    own.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def ask(line: str) -> set[str]:
        command = ["bash", "--norc", "-c", BASH.format(line=shlex.quote(line))]
        said = output_of(*command, cwd=tmp_path, environ={"PATH": path, "HOME": "/nonexistent"})
        return {candidate.rstrip() for candidate in said.splitlines() if candidate.strip()}

    return ask


def test_verbs(offered: Offered) -> None:
    assert offered("gitops-dsf ") >= set(VERBS)
    assert offered("gitops-dsf va") == {"validate"}


def test_options_of_a_verb(offered: Offered) -> None:
    assert offered("gitops-dsf render --") >= {
        "--check",
        "--stdout",
        "--part",
        "--allow-shrink",
        "--help",
    }
    assert offered("gitops-dsf validate --s") == {"--strict"}


def test_folders_for_a_folder_and_parts_for_a_part(offered: Offered, tmp_path: Path) -> None:
    (tmp_path / "fleet" / "rendered" / "works-00").mkdir(parents=True)
    (tmp_path / "fleet" / "rendered" / "INVENTORY").touch()
    (tmp_path / "flag.txt").touch()
    assert offered("gitops-dsf validate fl") == {"fleet/"}
    assert offered("gitops-dsf render fleet --stdout --part ") == {"works-00"}


def test_names_of_the_repository_and_revisions(offered: Offered, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet")]) == 0
    git("init", "--quiet", "--initial-branch=trunk", folder=tmp_path / "fleet")
    git("commit", "--quiet", "--allow-empty", "--message", "Begin", folder=tmp_path / "fleet")
    for link in ("apps", "clusters", "scorers", ".git"):
        (tmp_path / link).symlink_to(tmp_path / "fleet" / link)
    assert offered("gitops-dsf explain gue") == {"guestbook"}
    assert offered("gitops-dsf explain guestbook eu-") == {"eu-north-1", "eu-west-1"}
    assert offered("gitops-dsf status --scorer cpu") == {"cpu-headroom"}
    assert offered("gitops-dsf diff --base tr") == {"trunk"}
    assert offered("gitops-dsf explain DSF31") >= {"DSF310", "DSF318"}


def test_a_line_that_cannot_be_parsed_offers_nothing_and_says_nothing(offered: Offered) -> None:
    assert offered("gitops-dsf nonsense --") <= {"--help", "--version", "--debug", "--completion"}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_code_is_for_the_shell_and_names_the_program(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--completion", shell]) == 0
    code = capsys.readouterr().out
    assert "gitops-dsf" in code
    assert code.endswith("\n")
    found = shutil.which(shell)
    if found is not None:
        done = program(found, "-n", stdin=code)
        assert (done.returncode, done.stderr) == (0, "")
