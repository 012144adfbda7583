"""The order in which the tests run against a mutant. Pure."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from tools.mutants.reach import IMPORT, Reach

ONE_BY_ONE: Final = 15
"""The most promising tests run first, each alone. The others run by file, so that a fixture of a module is
made once.
"""


class Order:
    """Prefers tests that are fast, that noticed other mutants of the same function, or that reach lines of it
    that few tests reach.
    """

    def __init__(self, reach: Reach, seconds: Mapping[str, float]) -> None:
        self._reach = reach
        self._seconds = seconds
        self._by_file: dict[str, list[str]] = defaultdict(list)
        for test in seconds:
            self._by_file[_file(test)].append(test)
        self._noticed: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def noticed(self, test: str, file: str, function: str) -> None:
        """A test noticed a mutant of a function."""
        self._noticed[file, function][test] += 1
        self._noticed[file, ""][test] += 1

    def reached(self, file: str, lines: Collection[int]) -> tuple[set[str], bool]:
        """Returns the tests that run one of these lines, and whether the line also runs on import."""
        found = {test for line in lines for test in self._reach.get((file, line), ())}
        return self._items(found), IMPORT in found

    def others(self, file: str, lines: Collection[int], *, used_elsewhere: bool) -> set[str]:
        """Returns the tests that may notice a change of these lines although they run none of them, because
        they use what the import has made.

        These are all tests if the lines run on import, or if other modules use the result. Otherwise they are
        the tests that run any line of the file, or all tests if none does.
        """
        if used_elsewhere or self.reached(file, lines)[1]:
            return set(self._seconds)
        found = {test for (path, _), tests in self._reach.items() if path == file for test in tests}
        return self._items(found) or set(self._seconds)

    def new(self, tests: Iterable[str]) -> list[str]:
        """Returns the tests that were not collected without a mutant. A mutant that changes the parameters of
        a test changes its ID.
        """
        return [test for test in tests if test not in self._seconds]

    def seconds(self, test: str) -> float:
        """Returns the duration of a test; of a new one that of the slowest test of its file."""
        found = self._seconds.get(test)
        if found is None:
            found = max((self._seconds[one] for one in self._by_file.get(_file(test), ())), default=0.0)
        return found

    def ordered(
        self, tests: Collection[str], file: str, function: str, lines: Collection[int] = ()
    ) -> list[str]:
        """Orders the tests. `lines` are those of the function: every test may reach its first line, and the
        tests of a branch reach lines that few others reach.
        """
        here, module = self._noticed[file, function], self._noticed[file, ""]
        rare: dict[str, float] = defaultdict(float)
        for line in lines:
            reached = self._reach.get((file, line), ())
            for test in reached:
                rare[test] = max(rare[test], 1 / len(reached))

        def worth(test: str) -> float:
            promise = 1 + 20 * here[test] + 2 * module[test] + 200 * rare[test]
            return promise / (self.seconds(test) + 0.02)

        best = sorted(tests, key=lambda test: (-worth(test), test))
        first, rest = best[:ONE_BY_ONE], best[ONE_BY_ONE:]
        most: dict[str, float] = defaultdict(float)
        for test in rest:
            most[_file(test)] = max(most[_file(test)], worth(test))
        rest.sort(key=lambda test: (-most[_file(test)], _file(test), -worth(test)))
        return first + rest

    def until(self, tests: Sequence[str], seconds: float) -> list[str]:
        """Returns the first tests, until they take so many seconds; at least one."""
        total, found = 0.0, list[str]()
        for test in tests:
            if found and total > seconds:
                break
            found.append(test)
            total += self.seconds(test)
        return found

    def _items(self, found: Collection[str]) -> set[str]:
        """Names of files become the tests in them."""
        items: set[str] = set()
        for one in found:
            if one != IMPORT:
                items.update([one] if "::" in one else self._by_file[one])
        return items & self._seconds.keys()


def _file(test: str) -> str:
    return test.partition("::")[0]
