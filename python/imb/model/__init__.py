"""What all rooms share: records, observations and their keys, units, errors."""
