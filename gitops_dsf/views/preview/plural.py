"""Numbers with their noun."""


def plural(count: int, noun: str) -> str:
    """Formats `1 cluster`, `2 clusters`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
