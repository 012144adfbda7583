"""A mutation tester for the modules that delete, decide or use credentials: `make mutants`.

Each mutant is one small change of one module. A mutant that no test notices shows a gap in the tests, or it
is equivalent: it changes nothing. mutmut and cosmic-ray are not suitable. mutmut does not change decorated
functions, and every rule of the generator is decorated. cosmic-ray starts an interpreter for each mutant;
this tool collects the tests once, and forks a process for each mutant.
"""
