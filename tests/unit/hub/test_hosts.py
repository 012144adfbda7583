"""Hosts: which are inside the cluster, and which are link-local or a metadata service, in every spelling that
a resolver takes.
"""

import pytest

from gitops_dsf.hub.hosts import is_in_cluster, is_metadata


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("prometheus.monitoring.svc", True),
        ("prometheus.monitoring.svc.cluster.local.", True),
        ("prometheus", True),
        ("a.svc.evil.com", False),
        ("svc.cluster.local.evil.com", False),
        ("evil.com", False),
        ("10.0.0.7", False),
        ("2852039166", False),
        ("fe80::1", False),
    ],
)
def test_inside_the_cluster(host: str, inside: bool) -> None:
    assert is_in_cluster(host) is inside


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("169.254.169.254", True),
        ("169.254.43518", True),
        ("2852039166", True),
        ("0xa9fea9fe", True),
        ("0251.0376.0251.0376", True),
        ("0xA9.254.0251.254", True),
        ("::ffff:169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("fd00:ec2::254", True),
        ("100.100.100.200", True),
        ("Metadata.Google.Internal.", True),
        ("10.0.0.7", False),
        ("169.255.0.1", False),
        ("1.2.3.4.5", False),
        ("08.1.1.1", False),
        ("256.1.1.1", False),
        ("::1", False),
        ("metadata.example.com", False),
    ],
)
def test_metadata_services(host: str, found: bool) -> None:
    assert is_metadata(host) is found
