"""Duty: removes scores that nobody renews any more, within limits (docs/reconciler.md#dead-scores).

An expired score still satisfies a predicate on its existence (`onMissingScore: Exclude`), and OCM does not
look again when it expires. Its removal is an event. `candidates` finds, `allowance` limits, `removal` looks
again and removes, `duty` brings them together.
"""
