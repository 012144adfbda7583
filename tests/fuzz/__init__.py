"""A coverage-guided fuzzer for what reads text of others: `make fuzz MINUTES=n`."""
