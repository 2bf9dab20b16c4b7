"""The plan of a session and its execution: campaigns, interleaving, setup and teardown, submission."""
