"""URLs to which a program can send an HTTP request."""

from urllib.parse import urlsplit


def is_web_url(url: str) -> bool:
    """Whether this is an http or https URL with a host and a port from 1 to 65535.

    asyncio raises OverflowError, which is not an OSError, for a port above that, so check before
    connecting.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    blank = any(character.isspace() for character in parts.netloc)
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and not blank
