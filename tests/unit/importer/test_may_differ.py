"""The quick comparison never overlooks what the thorough one would change."""

from io import StringIO
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from gitops_dsf.importer.update import differing, update
from tests.support.laws import examples

labels = st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["1", "x"]), max_size=2)
claims = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("pq"), "value": st.sampled_from("12")}),
    max_size=2,
    unique_by=str,
)
taints = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from("pq"), "effect": st.just("NoSelect")}),
    max_size=2,
    unique_by=str,
)


@st.composite
def clusters(draw: st.DrawFn) -> dict[str, Any]:
    spec: dict[str, Any] = {"hubAcceptsClient": draw(st.booleans())}
    if draw(st.booleans()):
        spec["taints"] = draw(taints)
    metadata: dict[str, Any] = {"name": "c"}
    if draw(st.booleans()):
        metadata["labels"] = draw(labels)
    found: dict[str, Any] = {"kind": "ManagedCluster", "metadata": metadata, "spec": spec}
    if draw(st.booleans()):
        found["status"] = {"clusterClaims": draw(claims)}
    return found


@examples(25, soak=1000)
@given(document=clusters(), value=clusters())
def test_it_overlooks_nothing(document: dict[str, Any], value: dict[str, Any]) -> None:
    yaml, text = YAML(), StringIO()
    yaml.dump(document, text)
    changes = update(yaml.load(text.getvalue()), value)
    assert bool(differing(document, value)) == bool(changes)
