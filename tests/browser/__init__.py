"""Pages in a browser. All tests of this package share one."""
