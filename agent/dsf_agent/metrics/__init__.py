"""The agent's own metrics, the samples of dynamic_score, and the page that serves both."""
