"""What is set up once per hub, beside the rendered tree."""
