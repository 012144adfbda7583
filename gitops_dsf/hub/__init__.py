"""The objects of a hub as typed values, and the rules about them. No I/O.

Each fact has one rule here: which clusters a scorer targets, whether a score is fresh, whether a /config page
drifted, which clusters a decision names. The generator, the simulator, the views and the reconciler all call
these functions.
"""
