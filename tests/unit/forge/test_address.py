"""The name of the repository on its forge, and where the API is, from the URL that git clones."""

import pytest

from gitops_dsf.forge.address import ForgeKind, address_of

GITHUB = "https://api.github.com"
GHE = "https://github.example.com/api/v3"


@pytest.mark.parametrize(
    ("kind", "url", "api", "place"),
    [
        ("GitHub", "https://github.com/team/fleet.git", GITHUB, "team/fleet"),
        ("GitHub", "https://github.com/team/fleet/", GITHUB, "team/fleet"),
        ("GitHub", "git@github.com:team/fleet.git", GITHUB, "team/fleet"),
        ("GitHub", "ssh://git@ssh.github.com:443/team/fleet.git", GITHUB, "team/fleet"),
        ("GitHub", "https://GitHub.example.com/team/fleet", GHE, "team/fleet"),
        ("GitHub", "git@github.example.com:team/fleet", GHE, "team/fleet"),
        (
            "GitLab",
            "https://gitlab.com/a/b/c/fleet.git",
            "https://gitlab.com/api/v4",
            "a/b/c/fleet",
        ),
        (
            "GitLab",
            "ssh://git@altssh.gitlab.com:443/a/fleet",
            "https://gitlab.com/api/v4",
            "a/fleet",
        ),
        (
            "GitLab",
            "https://git.example.com:8443/a/b.git",
            "https://git.example.com:8443/api/v4",
            "a/b",
        ),
        (
            "Gitea",
            "http://127.0.0.1:3000/team/fleet.git",
            "http://127.0.0.1:3000/api/v1",
            "team/fleet",
        ),
        ("Gitea", "https://[::1]:3000/team/fleet.git", "https://[::1]:3000/api/v1", "team/fleet"),
        (
            "Gitea",
            "ssh://git@git.example.com:2222/a/b.git",
            "https://git.example.com/api/v1",
            "a/b",
        ),
        ("Gitea", "git@codeberg.org:team/fleet.git", "https://codeberg.org/api/v1", "team/fleet"),
    ],
)
def test_the_address_follows_from_every_form_of_url(
    kind: ForgeKind, url: str, api: str, place: str
) -> None:
    assert address_of(url, kind=kind) == (api, place)


@pytest.mark.parametrize(
    "url", ["https://example.com/git/team/fleet.git", "git@example.com:team/fleet.git"]
)
def test_a_forge_in_a_folder_of_its_host_is_named_by_its_api(url: str) -> None:
    api = "https://example.com/git/api/v1"
    assert address_of(url, kind="Gitea", api=f"{api}/") == (api, "team/fleet")


@pytest.mark.parametrize(
    ("kind", "url", "problem"),
    [
        ("GitHub", "https://github.com/fleet.git", "names no owner and repository"),
        ("GitHub", "https://github.com/a/b/c", "names no owner and repository"),
        ("Gitea", "https://git.example.com/a/b/c", "names no owner and repository"),
        ("GitLab", "git@gitlab.com:fleet.git", "names no owner and repository"),
        ("GitHub", "file:///srv/team/fleet.git", "names no owner and repository"),
        (
            "GitHub",
            "https://gitlab.com/team/fleet.git",
            "gitlab.com is not a GitHub: write forge: GitLab",
        ),
        (
            "GitLab",
            "git@ssh.github.com:team/fleet.git",
            "github.com is not a GitLab: write forge: GitHub",
        ),
        (
            "GitLab",
            "https://codeberg.org/team/fleet.git",
            "codeberg.org is not a GitLab: write forge: Gitea",
        ),
    ],
)
def test_a_url_without_a_repository_or_of_another_forge_is_refused(
    kind: ForgeKind, url: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        address_of(url, kind=kind)
