"""What the reconciler keeps of credentials of scoring APIs, and what it forgets."""

import ssl
from pathlib import Path

from dsf_runtime.oauth2 import AccessTokens, OAuth2Client
from gitops_dsf.hub.scorers import Auth, KeyRef
from gitops_dsf.sync.credentials import PageCredentials
from gitops_dsf.sync.requests import PageRequest
from tests.support.agent.certificates import Authority


async def test_contexts_of_removed_scorers_are_forgotten(tmp_path: Path) -> None:
    async def ask(client: OAuth2Client, trust: ssl.SSLContext | None) -> bytes:
        raise AssertionError(client, trust)

    (tmp_path / "cas").mkdir()
    (tmp_path / "cas" / "ca.crt").write_text(Authority().pem)
    kept = PageCredentials(folder=tmp_path, tokens=AccessTokens(), ask=ask)
    auth = Auth(ca_config_map_ref=KeyRef(name="cas", key="ca.crt"))
    first = await kept.shown(PageRequest("https://a.example.com", auth))
    assert first.trust is not None
    kept.keep_only([auth])
    assert (await kept.shown(PageRequest("https://a.example.com", auth))).trust is first.trust
    kept.keep_only([])
    assert kept._contexts == {}
