"""Applications: where the decision wants them, where they are, and what a copy waits for."""

from typing import Any

import pytest

from gitops_dsf.views.status import Part, build
from gitops_dsf.views.status.model import ApplicationView
from tests.support.hubobjects import Object, application, application_set, cluster, decision
from tests.support.overviews import inputs_of


def only(*objects: Object, **more: Any) -> ApplicationView:
    found = build(inputs_of([cluster("a"), cluster("b"), *objects], **more)).applications
    assert len(found) == 1
    return found[0]


def standings(view: ApplicationView) -> dict[str, str]:
    return {copy.cluster: str(copy.standing) for copy in view.copies}


def test_a_move_shows_what_the_old_copy_waits_for() -> None:
    decided = (application_set("web"), decision("web", "b"), application("web", "a"))
    assert standings(only(*decided)) == {"a": "waiting", "b": "pending"}
    starting = only(*decided, application("web", "b", health="Progressing"))
    assert (standings(starting), starting.settled) == ({"a": "waiting", "b": "starting"}, False)
    assert standings(only(*decided, application("web", "b"))) == {"a": "waiting", "b": "running"}


def test_a_copy_that_is_being_deleted_is_leaving() -> None:
    leaving = application("web", "a", deletionTimestamp="2026-06-01T12:00:00Z")
    assert standings(only(application_set("web"), decision("web", "b"), leaving)) == {
        "a": "leaving",
        "b": "pending",
    }


def test_a_pulled_application_names_its_cluster_by_annotation() -> None:
    pulled = application("web", "a", annotations={"apps.open-cluster-management.io/ocm-managed-cluster": "a"})
    pulled["spec"]["destination"] = {"server": "https://kubernetes.default.svc"}
    assert standings(only(application_set("web"), decision("web", "a"), pulled)) == {"a": "running"}


def test_a_nested_generator_is_followed() -> None:
    item = application_set("web")
    item["spec"]["generators"] = [
        {"matrix": {"generators": [*item["spec"]["generators"], {"list": {"elements": []}}]}}
    ]
    assert only(item, decision("web", "a")).placements == ("web",)


@pytest.mark.parametrize("part", [Part.DECISIONS, Part.APPLICATIONS])
def test_what_could_not_be_read_is_not_called_a_move(part: Part) -> None:
    view = only(application_set("web"), decision("web", "a"), application("web", "b"), unread=[part])
    assert (view.settled, view.copies) == (None, ())


def test_applicationsets_written_by_hand_do_not_say_how_they_move_and_are_left_out() -> None:
    item = application_set("web")
    del item["metadata"]["annotations"]
    assert build(inputs_of([cluster("a"), item])).applications == ()
