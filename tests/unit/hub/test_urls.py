"""Which URLs git would take for something else than an address."""

import pytest

from gitops_dsf.hub.urls import is_in_cluster, is_local, is_metadata, misleads_git

ADDRESSES = """
    https://git.example.com/-/fleet.git https://git.example.com:8443/team/a--b.git
    https://[fd00::1]/team/fleet.git ssh://git@git.example.com:22/team/fleet.git
    ssh://git@[fe80::1]:22/team/fleet.git git@git.example.com:team/-fleet.git
    oci://registry.example.com/charts/web file:///srv/fleet.git /srv/a::b registry.example.com/charts
"""


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


INSIDE = "prometheus.monitoring.svc prometheus.monitoring.svc.cluster.local. prometheus"
OUTSIDE = "a.svc.evil.com svc.cluster.local.evil.com evil.com 10.0.0.7 2852039166 fe80::1"
METADATA = """
    169.254.169.254 169.254.43518 2852039166 0xa9fea9fe 0251.0376.0251.0376 0xA9.254.0251.254
    ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 fe80::1%eth0 169.254.170.23
    fd00:ec2::254 fd00:ec2::23 fd00:0ec2:0:0:0:0:0:0023 fd20:ce::254 fd00:c1::a9fe:a9fe
    64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1::169.254.169.254 2002:a9fe:a9fe::1
    100.100.100.200 ::ffff:100.100.100.200 Metadata.Google.Internal.
"""
NO_METADATA = """
    64:ff9b::10.0.0.7 ::ffff:10.0.0.7 fd00:ec2::53 2001:db8::a9fe:a9fe 10.0.0.7 169.255.0.1
    1.2.3.4.5 08.1.1.1 256.1.1.1 ::1 metadata.example.com
"""
POD_ITSELF = "localhost 127.1 ::1 :: ::ffff:127.0.0.1 64:ff9b::127.0.0.1"
OTHERS = "::ffff:10.0.0.7 ::2 localhost.example.com"


def test_inside_the_cluster() -> None:
    assert [host for host in f"{INSIDE} {OUTSIDE}".split() if is_in_cluster(host)] == INSIDE.split()


def test_metadata_services() -> None:
    assert [
        host for host in (METADATA + NO_METADATA).split() if is_metadata(host)
    ] == METADATA.split()


def test_the_pod_itself() -> None:
    assert [
        host for host in f"{POD_ITSELF} {OTHERS}".split() if is_local(host)
    ] == POD_ITSELF.split()
