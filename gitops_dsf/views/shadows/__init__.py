"""How shadows agree with their live scorers, and what their promotion would move."""
