"""What kind of place a host is."""

from gitops_dsf.urls.hosts import is_in_cluster, is_local, is_metadata

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
