"""Changed fields as people name them."""

from gitops_dsf.views.preview.fields import FieldChange, field_changes


def term(name: str, weight: int) -> dict[str, object]:
    return {
        "scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": name, "scoreName": name}},
        "weight": weight,
    }


def steady(weight: int) -> dict[str, object]:
    return {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": weight}


def test_list_items_are_found_again_by_what_people_call_them() -> None:
    before = {"configurations": [term("cpu", 5), steady(1)]}
    after = {"configurations": [steady(1), term("net", 5), term("cpu", 3)]}
    assert [(item.path, item.before, item.after) for item in field_changes(before, after)] == [
        ("configurations[cpu/cpu].weight", 5, 3),
        ("configurations[net/net].scoreCoordinate.addOn.resourceName", None, "net"),
        ("configurations[net/net].scoreCoordinate.addOn.scoreName", None, "net"),
        ("configurations[net/net].scoreCoordinate.type", None, "AddOn"),
        ("configurations[net/net].weight", None, 5),
    ]


def test_items_that_share_a_name_are_told_apart_by_their_place() -> None:
    before, after = (
        {"t": [{"key": "a", "v": 1}, {"key": "a", "v": 2}]},
        {"t": [{"key": "a", "v": 1}, {"key": "a", "v": 3}]},
    )
    assert field_changes(before, after) == (FieldChange(path="t[1].v", before=2, after=3),)


def test_null_is_absent_and_scalars_of_a_list_stay_together() -> None:
    assert field_changes({"a": None, "b": []}, {"b": []}) == ()
    assert field_changes({"a": ["x"]}, {"a": ["x", "y"]}) == (
        FieldChange(path="a", before=["x"], after=["x", "y"]),
    )
    assert field_changes({"a": {"b": 1}}, {"a": {}}) == (
        FieldChange(path="a", before=None, after={}),
        FieldChange(path="a.b", before=1, after=None),
    )
    assert field_changes({"a": None}, {"a": {"b": None}}) == ()


def test_only_what_differs_of_an_object_is_told_by_path() -> None:
    before = {"b": {"same": 1, "gone": 2, "inner": {"x": [], "y": 1}}, "a": "old"}
    after = {"a": "new", "b": {"inner": {"y": 2, "x": []}, "same": 1, "new": {"z": 3}}}
    assert field_changes(before, after) == (
        FieldChange(path="a", before="old", after="new"),
        FieldChange(path="b.gone", before=2, after=None),
        FieldChange(path="b.inner.y", before=1, after=2),
        FieldChange(path="b.new.z", before=None, after=3),
    )
