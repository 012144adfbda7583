"""The number of examples of property tests.

Few in `make test`, twenty times as many in `make soak`.
"""

from typing import Final

from hypothesis import settings

SUITE_EXAMPLES: Final = 50
"""The default number of examples."""
SOAK_FACTOR: Final = 20


def register() -> None:
    """The profiles. `pytest --hypothesis-profile soak` selects another profile than the default."""
    settings.register_profile("suite", deadline=None, print_blob=True, max_examples=SUITE_EXAMPLES)
    settings.register_profile(
        "soak", settings.get_profile("suite"), max_examples=SUITE_EXAMPLES * SOAK_FACTOR
    )
    settings.load_profile("suite")


def every(count: int) -> int:
    """The distance between the moments that a story is told for: `count` in `make test`, 1 in `make
    soak`.
    """
    return max(1, count * SUITE_EXAMPLES // settings().max_examples)


def examples(count: int, *, soak: int = 0) -> settings:
    """For a property with expensive or cheap examples.

    `count` is the number in `make test`, chosen so that they need about a quarter of a second of
    CPU. `soak` is the number in `make soak`, by default twenty times as many.
    """
    more = settings().max_examples > SUITE_EXAMPLES
    return settings(max_examples=(soak or count * SOAK_FACTOR) if more else count)
