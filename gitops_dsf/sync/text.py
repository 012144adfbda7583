"""Shows untrusted text: printable, on one line, of limited length."""


def shown(value: object, *, most: int = 120) -> str:
    """Formats a value for people. Control characters, which could control a terminal, are escaped."""
    text = "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode()
        for each in str(value)[: most + 1]
    )
    return text if len(text) <= most else f"{text[: most - 3]}..."
