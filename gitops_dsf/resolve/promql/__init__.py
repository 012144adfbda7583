"""PromQL: mistakes in an expression, the labels of its result, and the time that it looks back."""
