"""GitHub and GitLab do what every forge must do (tests/hub has Gitea itself): GitHub by a server that checks
requests, GitLab by recorded answers of its documentation.
"""

from pathlib import Path

import pytest

from gitops_dsf.ci.environment import Sender as PipelineSender
from gitops_dsf.forge.forge import ForgeError
from gitops_dsf.forge.forges import GitHub, GitLab
from gitops_dsf.reconciler.forge import Sender
from gitops_dsf.reconciler.git.credentials import Credentials
from tests.hub.controlplane.gitserver import GitServer
from tests.support.forges import RecordedForge, tell
from tests.support.githubserver import NAME, OWNER, GitHubServer

TOKEN = "token-of-this-test"
GROUPS = "team/platform/fleet"


@pytest.fixture
def sender(tmp_path: Path) -> Sender:
    (tmp_path / "token").write_text(TOKEN)
    return Sender(Credentials(folder=tmp_path))


async def test_github(tmp_path: Path, sender: Sender) -> None:
    repository = GitServer(folder=tmp_path / "git").create(NAME)
    with GitHubServer(repository=repository, token=TOKEN) as server:
        forge = GitHub(api=server.url, place=f"{OWNER}/{NAME}", base="main", send=sender)
        await tell(forge, server)
        assert server.violations == []
        assert [text.split()[-1] for text in server.pulls[0].comments] == ["Forged", "good", "New"]


async def test_gitlab(sender: Sender) -> None:
    signed = ("PRIVATE-TOKEN", TOKEN)
    with RecordedForge(name="gitlab", prefix="/api/v4", signed=signed) as server:
        await tell(GitLab(api=server.url, place=GROUPS, base="main", send=sender), server)
        assert server.violations == []
        assert server.left == []


async def test_gitlab_tells_what_a_token_needs() -> None:
    """Also of a pipeline, whose job token may write no notes."""
    with RecordedForge(name="gitlab", prefix="/api/v4", signed=("PRIVATE-TOKEN", TOKEN)) as server:
        forge = GitLab(api=server.url, place=GROUPS, base="main", send=PipelineSender("of-a-job"))
        with pytest.raises(
            ForgeError, match=r"401 .*; the token needs: the scope api, and the role Developer"
        ):
            await forge.latest("a")
        with pytest.raises(ForgeError, match="role Reporter; no job token may write notes") as caught:
            await forge.comment(1, "x", marker="x")
        assert caught.value.refused
