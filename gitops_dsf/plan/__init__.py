"""Plans what exists on the hub: which scorers run where, in which configuration and in which shard.

`fleet` has the result, `works` groups clusters by configuration, and `summaries` writes scorers in
the wire format. Pure: nothing here reads files or knows YAML.
"""
