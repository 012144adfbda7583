"""Which URLs git would take for something else than an address."""

import pytest

from gitops_dsf.urls.git import misleads_git

ADDRESSES = """
    https://git.example.com/-/fleet.git https://git.example.com:8443/team/a--b.git
    https://[fd00::1]/team/fleet.git ssh://git@git.example.com:22/team/fleet.git
    ssh://git@[fe80::1]:22/team/fleet.git git@git.example.com:team/-fleet.git
    oci://registry.example.com/charts/web file:///srv/fleet.git /srv/a::b registry.example.com/charts
"""  # noqa: E501


@pytest.mark.parametrize(
    "url",
    [
        *("ext::sh -c id", "fd::17/fleet", "my-helper::x"),
        *("--upload-pack=id", "-oProxyCommand=id@git.example.com:team/fleet"),
        *("git@-oProxyCommand=id:team/fleet", "git@git.example.com:-team/fleet"),
        *("ssh://-oProxyCommand=id/fleet", "ssh://git@-oProxyCommand=id/fleet"),
    ],
)
def test_helpers_and_options_are_recognised(url: str) -> None:
    assert misleads_git(url)


@pytest.mark.parametrize("url", ADDRESSES.split())
def test_addresses_are_not(url: str) -> None:
    assert not misleads_git(url)
