"""Equal findings are told once: they differ only in the name of the cluster."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from gitops_dsf.views.doctor import finding

NAMES = st.text("ab.-_é ", min_size=1, max_size=3)
TEXTS = st.text("ab.-_é '\n", max_size=12)


@given(name=NAMES, text=TEXTS)
@example(name="a", text="a")
@example(name="a", text="aa a-a a.a a_a éa aé")
@example(name="a a", text="a a a a")
def test_a_name_is_found_where_it_stands_alone(name: str, text: str) -> None:
    pattern = rf"(?<![\w.-]){re.escape(name)}(?![\w.-])"
    assert finding._without(name, text) == re.sub(pattern, "\0", text)
