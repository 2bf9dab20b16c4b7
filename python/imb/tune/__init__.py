"""The search for faster algorithms of collectives, and the proof of what it chose. Pure."""
