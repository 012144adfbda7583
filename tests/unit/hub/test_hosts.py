"""Hosts: which are inside the cluster, and which are link-local or a metadata service, in every spelling that
a resolver takes.
"""

import pytest

from gitops_dsf.hub.hosts import is_in_cluster, is_local, is_metadata


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
        ("fd00:ec2::23", True),
        ("fd00:0ec2:0:0:0:0:0:0023", True),
        ("169.254.170.23", True),
        ("fd20:ce::254", True),
        ("fd00:c1::a9fe:a9fe", True),
        ("::ffff:a9fe:a9fe", True),
        ("::ffff:100.100.100.200", True),
        ("::169.254.169.254", True),
        ("64:ff9b::169.254.169.254", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("64:ff9b:1::169.254.169.254", True),
        ("2002:a9fe:a9fe::1", True),
        ("64:ff9b::10.0.0.7", False),
        ("::ffff:10.0.0.7", False),
        ("fd00:ec2::53", False),
        ("2001:db8::a9fe:a9fe", False),
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


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ("localhost", True),
        ("127.1", True),
        ("::1", True),
        ("::", True),
        ("::ffff:127.0.0.1", True),
        ("64:ff9b::127.0.0.1", True),
        ("::ffff:10.0.0.7", False),
        ("::2", False),
        ("localhost.example.com", False),
    ],
)
def test_the_pod_itself(host: str, found: bool) -> None:
    assert is_local(host) is found
