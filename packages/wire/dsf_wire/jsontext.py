"""JSON text of others before it is decoded: its byte order mark and its encoding."""

import codecs
from typing import TypeVar

Content = TypeVar("Content", bytes, bytearray)


def without_mark(content: Content) -> Content:
    """The text without the byte order mark that some editors, shells and servers write before it.

    RFC 8259, section 8.1, lets readers ignore the mark; msgspec and Go's encoding/json refuse it.
    """
    if content.startswith(codecs.BOM_UTF8):  # removeprefix always copies a bytearray
        return content[len(codecs.BOM_UTF8) :]
    return content


def utf8(content: Content) -> Content:
    """The text.

    Raises UnicodeDecodeError, because msgspec does not check what it does not decode.
    """
    if not content.isascii():
        content.decode()
    return content
