"""PromQL: where an expression is wrong, which labels its result has, how far it looks back."""
