"""Arguments of reconcile that cannot work are refused at the start, in words."""

import pytest

from gitops_dsf.cli.main import main

URL = "--git-url=https://git.example.com/team/fleet.git"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--propose=locks"], "name it with --git-url"),
        ([URL, "--propose=lock"], "lock is not known; write locks, inventory"),
        (["--git-url=https://tom:secret@git.example.com/team/fleet"], "write the URL without them"),
        (["--git-url=fleet"], "--git-url: write https://host/owner/repository.git"),
        ([URL, "--author=Tom"], "write a name and a mail address"),
        ([URL, "--propose=locks", "--proposal-prefix=a b"], "a branch name cannot begin with it"),
        ([URL, "--propose=locks", "--message-template={title}"], "{title} is not known"),
        ([URL, "--propose=locks", "--max-proposals=0"], "--max-proposals 1 to 100"),
        ([URL, "--propose=locks", "--propose-interval=0"], "--propose-interval is 1 to 86400 seconds"),
        ([URL, "--propose=locks", "--forge=github", "--direct"], "there is no pull request"),
        (
            ["--git-url=https://github.com/fleet", "--propose=locks", "--forge=github"],
            "need an owner and a name",
        ),
        (
            [URL, "--propose=locks", "--forge=github", "--forge-url=github.example.com"],
            "--forge-url: write the address",
        ),
    ],
)
def test_wrong_arguments(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconcile", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert "secret" not in said.replace("Secret", "").replace("mounted", "")
