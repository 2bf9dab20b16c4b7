"""Error rates that verdicts keep. docs/evidence has how they were measured."""

# Chance that anything is called different, changed, slow or faster where nothing is: of a comparison, a history, a sweep of a fabric, a search for
# algorithms.
ANY_FALSE = 0.01
# Chance that a check of the newest session calls it different where it is not: of 100 nightly checks at most 1 in 10 histories has a false alarm.
FALSE_CHECK = 0.001
