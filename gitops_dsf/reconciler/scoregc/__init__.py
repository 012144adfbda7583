"""Score garbage collection: deletes expired scores that no agent will renew.

See docs/reconciler.md#score-garbage-collection.

An expired score still satisfies a predicate on its existence (`onMissingScore: Exclude`), and OCM does not
schedule again when a score expires. Deleting the score is an event that OCM reacts to.

candidates   which scores are dead: expired for more than a TTL, and nobody is left to renew them
limit        how many of them may be deleted now
deletion     reads everything about one score again, and deletes it
controller   the control loop, with its metrics
"""
