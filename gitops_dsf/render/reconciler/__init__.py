"""rendered/reconciler: the Deployment on the hub that observes what git cannot know, its rights, and the
policies that narrow them.

A directory and an Argo CD Application of its own: an image that cannot start must not hold back what the
fleet needs.
"""
