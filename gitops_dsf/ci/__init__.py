"""What the pipeline of a fleet repository does: comment on a pull request, publish what is rendered."""
