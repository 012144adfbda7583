"""Owner and repository from the URL of the fleet repository, and where the API is."""

import pytest

from gitops_dsf.reconciler.forge import github_api, place_of
from gitops_dsf.reconciler.git import GitError


@pytest.mark.parametrize(
    ("url", "host", "api"),
    [
        ("https://github.com/team/fleet.git", "github.com", "https://api.github.com"),
        ("https://github.com/team/fleet/", "github.com", "https://api.github.com"),
        ("git@github.com:team/fleet.git", "github.com", "https://api.github.com"),
        ("ssh://git@ssh.github.com:443/team/fleet.git", "ssh.github.com", "https://api.github.com"),
        (
            "https://GitHub.example.com:8443/team/fleet",
            "github.example.com",
            "https://github.example.com/api/v3",
        ),
        ("git@github.example.com:team/fleet", "github.example.com", "https://github.example.com/api/v3"),
    ],
)
def test_every_form_of_url_names_the_repository(url: str, host: str, api: str) -> None:
    assert place_of(url) == (host, "team/fleet")
    assert github_api(host) == api


@pytest.mark.parametrize(
    "url", ["https://github.com/fleet.git", "https://github.com/a/b/c", "git@github.com:fleet.git"]
)
def test_a_url_without_owner_and_name_is_refused(url: str) -> None:
    with pytest.raises(GitError, match="names no owner and repository"):
        place_of(url)
