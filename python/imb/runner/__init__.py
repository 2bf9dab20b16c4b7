"""Plans sessions and executes them: campaigns, interleaving, setup and teardown, submission."""
