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

Offered = Callable[..., list[set[str]]]


SOURCED = "source <(gitops-dsf --completion bash)\n"
ASKED = """
COMP_LINE={line}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=($COMP_LINE); COMP_TYPE=9
if [ "${{COMP_LINE% }}" != "$COMP_LINE" ]; then COMP_WORDS+=(""); fi
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMPREPLY=()
_python_argcomplete gitops-dsf "${{COMP_WORDS[COMP_CWORD]}}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
echo {end}
"""
END = "(end of what is offered)"


@pytest.fixture
def offered(tmp_path: Path) -> Offered:
    """What the completion function offers behind each line, asked as readline does, in a folder of
    its own.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def ask(*lines: str) -> list[set[str]]:
        asked = [ASKED.format(line=shlex.quote(line), end=shlex.quote(END)) for line in lines]
        command = ["bash", "--norc", "-c", SOURCED + "".join(asked)]
        said = output_of(*command, cwd=tmp_path, environ={"PATH": path, "HOME": "/nonexistent"})
        answers = said.split(f"{END}\n")[:-1]
        return [
            {candidate.rstrip() for candidate in answer.splitlines() if candidate.strip()}
            for answer in answers
        ]

    return ask


def test_verbs(offered: Offered) -> None:
    every, validate = offered("gitops-dsf ", "gitops-dsf va")
    assert every >= set(VERBS)
    assert validate == {"validate"}


def test_options_of_a_verb(offered: Offered) -> None:
    of_render, strict = offered("gitops-dsf render --", "gitops-dsf validate --s")
    assert of_render >= {"--check", "--stdout", "--part", "--allow-shrink", "--help"}
    assert strict == {"--strict"}


def test_folders_for_a_folder_and_parts_for_a_part(offered: Offered, tmp_path: Path) -> None:
    (tmp_path / "fleet" / "rendered" / "works-00").mkdir(parents=True)
    (tmp_path / "fleet" / "rendered" / "INVENTORY").touch()
    (tmp_path / "flag.txt").touch()
    folders, parts = offered("gitops-dsf validate fl", "gitops-dsf render fleet --stdout --part ")
    assert folders == {"fleet/"}
    assert parts == {"works-00"}


def test_names_of_the_repository_and_revisions(offered: Offered, tmp_path: Path) -> None:
    assert main(["init", str(tmp_path / "fleet")]) == 0
    git("init", "--quiet", "--initial-branch=trunk", folder=tmp_path / "fleet")
    git("commit", "--quiet", "--allow-empty", "--message", "Begin", folder=tmp_path / "fleet")
    for link in ("apps", "clusters", "scorers", ".git"):
        (tmp_path / link).symlink_to(tmp_path / "fleet" / link)
    application, clusters, scorer, branch, codes = offered(
        "gitops-dsf explain gue",
        "gitops-dsf explain guestbook eu-",
        "gitops-dsf status --scorer cpu",
        "gitops-dsf diff --base tr",
        "gitops-dsf explain DSF31",
    )
    assert application == {"guestbook"}
    assert clusters == {"eu-north-1", "eu-west-1"}
    assert scorer == {"cpu-headroom"}
    assert branch == {"trunk"}
    assert codes >= {"DSF310", "DSF318"}


def test_a_line_that_cannot_be_parsed_offers_nothing_and_says_nothing(offered: Offered) -> None:
    [options] = offered("gitops-dsf nonsense --")
    assert options <= {"--help", "--version", "--debug", "--completion"}


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
