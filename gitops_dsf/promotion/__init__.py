"""Gives a live scorer the definition of its shadow, as an edit of the repository's YAML."""

from gitops_dsf.promotion.plan import Promotion, PromotionError, promote

__all__ = ["Promotion", "PromotionError", "promote"]
