"""One module per part of a hub. A check is a pure function from facts to one result or more."""
