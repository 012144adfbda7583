"""CEL expressions in the predicates of Placements, as OCM v1.2.1 evaluates them.

OCM uses cel-go, and this package the C++ implementation of CEL with functions written in Python.
Guaranteed: where both may differ, the answer is Unsupported. Not guaranteed: OCM's costs, which are
only bounded from above. `checker` compiles, `limits` refuses, `predicates` evaluates;
`cluster_view` is the input, and each of the other modules declares the functions of one library.
"""
