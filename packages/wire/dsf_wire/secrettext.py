"""Secrets as people keep them: files, environment variables, keys of Secrets.

Editors and shells add a line break at the end, and some add a byte order mark at the start. Both
are removed here. Anything else that a header cannot have is refused, because HTTP libraries quote
the whole value in their messages.

Messages say what is wrong with the text and never repeat a part of it. They continue a sentence
that begins with the place: ``f"--token-file {path} {fault}"``.
"""

import codecs
from typing import Final

_OTHER_ENCODINGS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""Windows PowerShell 5.1 writes UTF-16 when output is redirected into a file."""
_MARK: Final = "\ufeff"


class SecretFault(ValueError):  # noqa: N818 - a finding about a text, not a mistake of ours
    """The reason why a text cannot be used as a secret. It contains no part of the text."""


def header_secret(raw: bytes | str) -> str:
    """A bearer token or the value of a header, without white space at its ends.

    Raises SecretFault.
    """
    text = _text(raw).strip()
    _check_one_line(text)
    # A header is bytes, and libraries encode other characters differently: the server would get
    # another token.
    if not text.isascii() or not text.isprintable():
        raise SecretFault("has a character that is not allowed in an HTTP header")
    return text


def line_secret(raw: bytes | str) -> str:
    """A user name, a password or a client secret, without line breaks at its end.

    Spaces may be part of it. Raises SecretFault.
    """
    text = _text(raw).rstrip("\r\n")
    _check_one_line(text)
    if not text.isprintable():
        raise SecretFault("has a control character or another one that is not printable")
    return text


def pem_secret(raw: bytes | str) -> str:
    """Certificates, a private key in PEM, or known hosts. Raises SecretFault.

    The text has the line breaks of Unix and one at the end: OpenSSH 9.2 refuses a private key
    without them.
    """
    text = _text(raw).replace("\r\n", "\n").rstrip()
    if not text:
        raise SecretFault("is empty")
    return f"{text}\n"


def certificates(raw: bytes) -> str:
    """Certificates in PEM as TLS libraries take them.

    Bundles have comments in any encoding, which do not matter; a byte order mark does, because it
    hides the first certificate. Raises SecretFault.
    """
    if raw.startswith(_OTHER_ENCODINGS):
        raise SecretFault("is UTF-16 text; write it as UTF-8")
    return raw.decode(errors="replace").removeprefix(_MARK).encode("ascii", "replace").decode()


def _text(raw: bytes | str) -> str:
    if isinstance(raw, bytes):
        if raw.startswith(_OTHER_ENCODINGS):
            raise SecretFault("is UTF-16 text; write it as UTF-8")
        try:
            raw = raw.decode()
        except UnicodeDecodeError:
            # The UnicodeDecodeError holds the whole secret, so it must not be the cause.
            raise SecretFault("is not UTF-8 text") from None
    return raw.removeprefix(_MARK)


def _check_one_line(text: str) -> None:
    if not text:
        raise SecretFault("is empty")
    if "\n" in text or "\r" in text:
        raise SecretFault("has more than one line")
