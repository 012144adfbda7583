"""Texts of strangers as they may be shown: printable, on one line, of bounded length."""


def shown(value: object, *, most: int = 120) -> str:
    """A value for people. Control characters, which could steer a terminal, are written as escapes."""
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in str(value)[: most + 1]
    )
    return text if len(text) <= most else f"{text[: most - 3]}..."
