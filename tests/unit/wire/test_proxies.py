"""Which proxy a request goes through.

The table of NO_PROXY is what Go's httpproxy and curl agree on.
"""

import pytest

from dsf_wire.proxies import Proxies, ProxyFault

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("no_proxy", "url", "direct"),
    [
        ("10.128.0.0/14,172.30.0.0/16", "https://172.30.0.1:443", True),
        ("10.128.0.0/14,172.30.0.0/16", "https://10.131.255.255/x", True),
        ("10.128.0.0/14,172.30.0.0/16", "https://10.132.0.1", False),
        ("10.1.2.3/8", "http://10.9.9.9", True),
        ("fd00::/8", "https://[fd01::1]:6443", True),
        ("fd00::/8", "https://[fe80::1]", False),
        ("fd00::/8", "https://hub.example.com", False),
        ("10.0.0.1", "http://10.0.0.1", True),
        ("10.0.0.1", "http://10.0.0.11", False),
        ("10.0.0.1", "http://[::ffff:10.0.0.1]", True),
        ("10.0.0.1:8080", "http://10.0.0.1:8080", True),
        ("10.0.0.1:8080", "http://10.0.0.1", False),
        ("[fd00::1]:443", "https://[fd00:0::1]", True),
        ("fd00::1", "https://[fd00::1]:6443", True),
        ("[fd00::1]", "https://[fd00::1]:6443", True),
        ("example.com", "https://example.com", True),
        ("example.com", "https://a.EXAMPLE.com.", True),
        ("example.com", "https://anexample.com", False),
        (".svc,.cluster.local", "http://prometheus.monitoring.svc:9090", True),
        (".svc, .cluster.local", "http://p.m.svc.cluster.local:9090", True),
        ("*.example.com", "https://a.example.com", True),
        ("example.com:443", "https://example.com", True),
        ("example.com:443", "https://example.com:8443", False),
        ("*", "https://anything.example.org", True),
        ("a.example.com b.example.com", "https://b.example.com", True),
        ("", "https://example.com", False),
        (",, :80, /, 10.0.0.0/99, [", "https://example.com", False),
        ("1", "https://10.0.0.1", False),
        ("", "http://localhost:9090", True),
        ("", "http://127.0.0.1:9090", True),
        ("", "http://127.8.9.10:9090", True),
        ("", "http://[::1]:9090", True),
        ("", "http://localhost.example.com", False),
    ],
)
def test_what_no_proxy_lists_is_called_directly(no_proxy: str, url: str, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        proxies = Proxies.of({"HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, name: no_proxy})
        assert proxies.proxy_for(url) == (None if direct else PROXY)


@pytest.mark.parametrize(
    ("environ", "of_http", "of_https"),
    [
        ({}, None, None),
        ({"HTTP_PROXY": "http://a"}, "http://a", None),
        ({"https_proxy": "http://b"}, None, "http://b"),
        ({"ALL_PROXY": "http://c"}, "http://c", "http://c"),
        ({"ALL_PROXY": "http://c", "HTTPS_PROXY": "https://d:1"}, "http://c", "https://d:1"),
        ({"http_proxy": "http://a", "HTTP_PROXY": "http://b"}, "http://a", None),
        ({"HTTP_PROXY": "proxy.example.com:3128"}, PROXY, None),
        ({"HTTP_PROXY": ""}, None, None),
        (
            {"HTTP_PROXY": " http://me:pass%21word@proxy:3128 "},
            "http://me:pass%21word@proxy:3128",
            None,
        ),
    ],
)
def test_the_variable_of_the_scheme(
    environ: dict[str, str], of_http: str | None, of_https: str | None
) -> None:
    proxies = Proxies.of(environ)
    urls = ("http://example.com", "https://example.com")
    assert tuple(map(proxies.proxy_for, urls)) == (of_http, of_https)


@pytest.mark.parametrize(
    "value",
    ["socks5://me:s3cret@h:1080", "http://me:s3cret@", "http://s3cret@h:99999", "http://s3cret h"],
)
def test_a_proxy_that_cannot_be_used_is_named_where_it_is_needed(value: str) -> None:
    proxies = Proxies.of({"HTTPS_PROXY": value, "NO_PROXY": ".svc"})
    assert proxies.proxy_for("https://prometheus.svc") is None
    assert proxies.proxy_for("http://example.com") is None
    with pytest.raises(ProxyFault) as caught:
        proxies.proxy_for("https://example.com")
    assert str(caught.value).startswith("HTTPS_PROXY is not an http or https URL of a proxy")
    assert "s3cret" not in str(caught.value)
