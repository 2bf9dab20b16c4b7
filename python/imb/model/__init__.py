"""Types and functions that all packages of imb share: records, observations and their keys, units, errors."""
