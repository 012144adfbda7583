"""A mutation tester for the modules that delete, decide or spend credentials: `make mutants`.

Each mutant is one small change of one module. A mutant that no test notices shows a gap in the tests, or it
changes nothing (then it is equivalent).

mutmut and cosmic-ray do not fit. mutmut leaves decorated functions as they are, and every rule of the
generator is decorated. cosmic-ray starts an interpreter for each mutant; this tool forks one that has its
libraries loaded.
"""
