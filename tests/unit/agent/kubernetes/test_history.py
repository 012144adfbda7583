"""The history of a scorer is limited in time and in bytes."""

from dsf_agent.kubernetes.history import KEY_BYTES, SNAPSHOT_BYTES, VALUE_BYTES, History


def points(history: History, key: bytes) -> list[tuple[float, float]]:
    return list(history.points(key, since=0, before=1e12))


def test_old_points_go() -> None:
    history = History(seconds=30, most_bytes=10_000)
    for at in range(10, 80, 10):
        history.record([(b"a", at / 10)], at=at)
    assert points(history, b"a") == [(40, 4.0), (50, 5.0), (60, 6.0), (70, 7.0)]
    assert not history.shortened
    assert list(history.points(b"a", since=50, before=70)) == [(50, 5.0), (60, 6.0)]


def test_series_come_and_go() -> None:
    history = History(seconds=100, most_bytes=10_000)
    history.record([(b"a", 1.0), (b"b", 2.0)], at=10)
    history.record([(b"b", 3.0)], at=20)
    history.record([(b"b", 4.0), (b"a", 5.0)], at=30)
    assert points(history, b"a") == [(10, 1.0), (30, 5.0)]
    assert points(history, b"b") == [(10, 2.0), (20, 3.0), (30, 4.0)]
    assert points(history, b"c") == []


def test_the_oldest_points_go_when_there_are_too_many_bytes() -> None:
    """The last snapshot always stays, however large it is."""
    each, labels = SNAPSHOT_BYTES + 2 * VALUE_BYTES, 2 * (KEY_BYTES + 1)
    history = History(seconds=3600, most_bytes=3 * each + labels)
    for at in range(10):
        history.record([(b"a", 0.0), (b"b", 0.0)], at=at)
    assert (len(history), history.size, history.shortened) == (3, 3 * each + labels, True)
    assert [at for at, _ in points(history, b"a")] == [7, 8, 9]
    history.most_bytes = 1
    history.record([(b"a", 0.0)], at=10)
    assert [at for at, _ in points(history, b"a")] == [10]


def test_a_history_that_has_room_again_is_not_shortened_any_more() -> None:
    """Other scorers may go, and leave their part of the memory."""
    history = History(seconds=3, most_bytes=400)
    for at in range(5):
        history.record([(b"a", 0.0)], at=at)
    assert (len(history), history.shortened) == (1, True)
    history.most_bytes = 10_000
    for at in range(5, 8):
        history.record([(b"a", 0.0)], at=at)
    assert (len(history), history.shortened) == (4, True)
    history.record([(b"a", 0.0)], at=8)
    assert (len(history), history.shortened) == (4, False)


def test_labels_count_as_long_as_a_point_needs_them() -> None:
    """Nodes that come and go in every step need new labels each time."""
    history = History(seconds=3, most_bytes=100_000)
    for at in range(20):
        history.record([(b"node-%02d" % at, 1.0)], at=at)
    each = SNAPSHOT_BYTES + VALUE_BYTES + KEY_BYTES + len(b"node-00")
    assert (len(history), history.size) == (4, 4 * each)
    for at in range(20, 30):
        history.record([(b"node", 1.0)], at=at)
    assert history.size == 4 * (SNAPSHOT_BYTES + VALUE_BYTES) + KEY_BYTES + len(b"node")


def test_a_clock_that_is_set_back_does_not_disturb_the_order() -> None:
    """Moments that were recorded before are kept. After a jump over the whole range they are wrong, and the
    history starts anew.
    """
    history = History(seconds=30, most_bytes=10_000)
    history.record([(b"a", 1.0)], at=100)
    history.record([(b"a", 2.0)], at=100)
    history.record([(b"a", 3.0)], at=90)
    assert points(history, b"a") == [(100, 1.0)]
    history.record([(b"a", 4.0)], at=50)
    assert points(history, b"a") == [(50, 4.0)]


def test_a_jump_back_over_exactly_the_range_starts_anew() -> None:
    history = History(seconds=30, most_bytes=10_000)
    assert not history.shortened
    history.record([(b"a", 1.0)], at=100)
    history.record([(b"a", 2.0)], at=71)
    assert points(history, b"a") == [(100, 1.0)]
    history.record([(b"a", 3.0)], at=70)
    assert points(history, b"a") == [(70, 3.0)]
    assert history.size == SNAPSHOT_BYTES + VALUE_BYTES + KEY_BYTES + 1
    assert not history.shortened
