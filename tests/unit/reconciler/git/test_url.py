"""The URL of a repository."""

import pytest

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.git.credentials import checked, is_http, is_ssh


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/team/fleet.git",
        "https://git.example.com:8443/fleet",
        "ssh://git@git.example.com:22/team/fleet.git",
        "git@git.example.com:team/fleet.git",
        "git.example.com:team/fleet.git",
        "file:///srv/fleet.git",
    ],
)
def test_usual_forms_are_taken(url: str) -> None:
    assert checked(url) == url
    assert is_http(url) == url.startswith("https")
    assert is_ssh(url) == ("git@" in url or url.startswith("git."))


@pytest.mark.parametrize(
    "url",
    [
        "https://tom:secret@git.example.com/fleet",
        "https://token@git.example.com/fleet",
        "ssh://git:secret@git.example.com/team/fleet.git",
    ],
)
def test_a_url_with_a_secret_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match=r"Secret that reconciler\.gitSecret names") as caught:
        checked(url)
    assert "secret@" not in str(caught.value)
    assert "token@" not in str(caught.value)
