"""Shadow scorers. A shadow runs beside the live scorer that it may replace, on the same clusters: it has the
selector and the masks of the live scorer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gitops_dsf.hub.glob import matches
from gitops_dsf.repository.model.scoring_config import Mask
from gitops_dsf.resolve.overlay import Overlay


def live_of(scorer: Overlay, scorers: Mapping[str, Overlay]) -> Overlay | None:
    """The live scorer of a shadow. None if the scorer is no shadow, or names a scorer that is missing or a
    shadow itself.
    """
    name = scorer.scorer.value.spec.shadow_of
    found = None if name is None else scorers.get(name)
    return None if found is None or found.scorer.value.spec.shadow_of is not None else found


def with_selectors_of_live(scorers: Mapping[str, Overlay]) -> dict[str, Overlay]:
    """Gives each shadow without a clusterSelector the one of its live scorer."""
    return {
        name: scorer
        if scorer.selector is not None or (live := live_of(scorer, scorers)) is None
        else replace(scorer, selector=live.selector)
        for name, scorer in scorers.items()
    }


def with_masks_of_live(masks: Sequence[Mask], scorers: Mapping[str, Overlay]) -> tuple[Mask, ...]:
    """Adds a mask for each shadow of a score that a mask names. The reconciler and `status` read masks by
    score name, and know of no other rule.
    """
    return (*masks, *_of_shadows(masks, scorers))


def _of_shadows(masks: Sequence[Mask], scorers: Mapping[str, Overlay]) -> Iterator[Mask]:
    for _, scorer in sorted(scorers.items()):
        live = live_of(scorer, scorers)
        if live is None:
            continue
        name, of_live = str(scorer.score_name.value), str(live.score_name.value)
        for mask in masks:
            if matches(of_live, mask.score_name) and not matches(name, mask.score_name):
                yield mask.model_copy(update={"score_name": name})
