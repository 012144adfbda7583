"""The pictures of the demo's comment in docs, which carry the digest of what they show."""

import hashlib
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from tests.pictures.browser import take
from tests.pictures.cases import demo_comment
from tests.pictures.pages import Theme, page

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
PICTURES: Final[Mapping[Theme, Path]] = {
    "light": IMAGES / "preview.png",
    "dark": IMAGES / "preview-dark.png",
}
WIDTH: Final = 800
_KEY: Final = b"Preview-SHA256"
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def demo_pages(folder: Path) -> Mapping[Theme, str]:
    """The comment on the pull request of the demo, as GitHub shows it in each theme."""
    comment = demo_comment(folder)
    return {theme: page(comment, forge="github", theme=theme, width=WIDTH) for theme in PICTURES}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def write_picture(browser: Browser, html: str, path: Path) -> None:
    """Takes the picture of a page, with the digest of the page."""
    take(browser, html, path, width=WIDTH)
    path.write_bytes(with_digest(path.read_bytes(), digest(html)))


def with_digest(png: bytes, value: str) -> bytes:
    """The PNG with a text chunk in front of its end."""
    data = _KEY + b"\0" + value.encode()
    checksum = zlib.crc32(b"tEXt" + data)
    chunk = struct.pack(">I", len(data)) + b"tEXt" + data + struct.pack(">I", checksum)
    # The last chunk, IEND, is empty: length, type and checksum.
    return png[:-12] + chunk + png[-12:]


def digest_in(png: bytes) -> str:
    """The digest that a PNG carries; empty without one."""
    assert png.startswith(_SIGNATURE)
    position = len(_SIGNATURE)
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        kind = png[position + 4 : position + 8]
        data = png[position + 8 : position + 8 + length]
        if kind == b"tEXt" and data.startswith(_KEY + b"\0"):
            return data.partition(b"\0")[2].decode()
        position += length + 12
    return ""
