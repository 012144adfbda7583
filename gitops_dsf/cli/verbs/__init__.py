"""What people type: each verb with its help and its arguments. It imports nothing slow."""
