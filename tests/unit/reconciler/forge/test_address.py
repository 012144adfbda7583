"""Owner and repository from the URL of the fleet repository, and where the API is."""

import pytest

from gitops_dsf.errors import UsageError
from gitops_dsf.reconciler.forge import Address, address, github_api


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
    place = address(url)
    assert place == Address(host=host, owner="team", name="fleet")
    assert str(place) == "team/fleet"
    assert github_api(place, url="") == api


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/fleet.git",
        "https://github.com/a/b/c",
        "git@github.com:fleet.git",
        "file:///srv/fleet.git",
        "https://h/../x",
    ],
)
def test_a_url_without_owner_and_name_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="need an owner and a name"):
        address(url)


def test_the_address_of_the_api_may_be_given() -> None:
    place = address("https://github.com/team/fleet.git")
    assert github_api(place, url="http://proxy:8080/api/v3/") == "http://proxy:8080/api/v3"
    for wrong in ("github.example.com", "https://token@github.example.com", "https://h/?a=1", "ftp://h"):
        with pytest.raises(UsageError, match="forgeURL"):
            github_api(place, url=wrong)
