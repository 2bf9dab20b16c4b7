"""The plan of a session and its execution: campaigns, interleaving, set-up and tear-down, submission."""
