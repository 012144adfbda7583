"""How many examples a law gets: few in `make test`, twenty times as many in `make soak`."""

from typing import Final

from hypothesis import Phase, settings

SUITE_EXAMPLES: Final = 50
"""Of a law that says nothing of its own."""
SOAK_FACTOR: Final = 20


def register() -> None:
    """The profiles. `pytest --hypothesis-profile soak` chooses another one than that of the suite."""
    settings.register_profile("suite", deadline=None, print_blob=True, max_examples=SUITE_EXAMPLES)
    settings.register_profile(
        "soak", settings.get_profile("suite"), max_examples=SUITE_EXAMPLES * SOAK_FACTOR
    )
    # A mutant is noticed or not: the smallest example of it is of no use, and two runs should agree.
    settings.register_profile(
        "mutants",
        settings.get_profile("suite"),
        phases=(Phase.explicit, Phase.generate),
        derandomize=True,
        print_blob=False,
    )
    settings.load_profile("suite")


def examples(count: int) -> settings:
    """For a law whose examples are dear, or cheap. `count` is what `make test` gives it."""
    return settings(max_examples=count * settings().max_examples // SUITE_EXAMPLES)
