"""Lists of API servers in pages.

Pages have about the same size in bytes, whatever the size of the objects.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from dsf_runtime.apicontent import ANSWER_BYTES
from dsf_runtime.apierrors import ApiError
from dsf_runtime.calls import FailureKind

FIRST_PAGE: Final = 500
"""The largest number of objects in a first page, whose size is unknown yet."""
MAX_PAGE: Final = 2000
"""Most objects in a page. Each request costs about a millisecond of CPU, as much as 500 scores."""
PAGE_BYTES: Final = 4 << 20
"""Intended size of a page. The API limits pages by number of objects, so the number is adapted to
the size of the objects that were read.
"""
MAX_PAGE_BYTES: Final = 4 * PAGE_BYTES
"""A larger page is not read to its end. It is requested again with fewer objects."""


class ListMetadata(
    msgspec.Struct,
    frozen=True,
    rename={
        "resource_version": "resourceVersion",
        "more": "continue",
        "remaining": "remainingItemCount",
    },
):
    """Metadata of a list."""

    resource_version: str = ""
    more: str = ""
    """Continue token of the next page; empty on the last one."""
    remaining: int | None = None
    """Objects of the pages that follow, if the server says it."""


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list. Its items are not decoded."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class Paging:
    """The parameters of a paged list.

    Pages have about PAGE_BYTES, whatever the size of the objects.
    """

    def __init__(self, selector: Mapping[str, str]) -> None:
        self._selector = selector
        self._limit = FIRST_PAGE
        self._more: str | None = ""
        """Continue token of the next page; None after the last one."""

    def params(self) -> dict[str, str] | None:
        """Parameters of the next request; None after the last page."""
        if self._more is None:
            return None
        params = {"limit": str(self._limit), **self._selector}
        if self._more:
            params["continue"] = self._more
        return params

    @property
    def max_bytes(self) -> int:
        """Upper limit of the bytes of a page. A single object cannot be requested in parts."""
        return ANSWER_BYTES if self._limit == 1 else MAX_PAGE_BYTES

    def too_large(self, path: str) -> None:
        """The page was too large: the next request asks for fewer objects.

        Raises ApiError for one object.
        """
        if self._limit == 1:
            msg = f"GET {path}: one object has more than {ANSWER_BYTES} bytes"
            raise ApiError(msg, kind=FailureKind.INVALID_BODY)
        # The page is divided by four: each attempt in vain has read MAX_PAGE_BYTES, so there should
        # be few of them.
        self._limit = max(1, self._limit // 4)

    def arrived(self, content: bytes, *, more: str | None = None) -> None:
        """A page is there. ``more`` is its continue token, if the caller has decoded it."""
        self._more = (_more(content) if more is None else more) or None
        if self._more is not None:
            # A page that is not the last has as many objects as were asked for, so their size is
            # known now.
            fitting = PAGE_BYTES * self._limit // len(content)
            self._limit = max(1, min(MAX_PAGE, self._limit * 2, fitting))


class _Ends(msgspec.Struct, frozen=True):
    """A list without its items."""

    metadata: ListMetadata


def _more(content: bytes) -> str:
    """The continue token of a page; empty on the last one, and for an answer that is not a page.

    The API server writes the metadata after the items of custom resources, and before those of
    typed lists. If it is in neither place, the whole page is read.
    """
    before = content[: content.find(b'"items":')].rstrip(b", \n") + b"}"
    after = b"{" + content[content.rfind(b"]") + 1 :].lstrip(b", \n")
    for part in (before, after, content):
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            return msgspec.json.decode(part, type=_Ends).metadata.more
    return ""
