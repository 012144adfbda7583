"""Times on a page, in seconds since its start."""

STEPS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400)


def clock(seconds: float) -> str:
    """Formats minutes and seconds: `1:05`; before the start `-0:03`."""
    whole = round(abs(seconds))
    sign = "-" if seconds < 0 and whole else ""
    return f"{sign}{whole // 60}:{whole % 60:02d}"


def ticks(end: float, *, most: int) -> list[float]:
    """Round times from 0 to the end, at most this many."""
    step = next((step for step in STEPS if end / step <= most - 1), None)
    if step is None:
        days = -(-int(end) // (86_400 * (most - 1)))
        step = days * 86_400
    return [float(moment) for moment in range(0, int(end) + 1, step)]
