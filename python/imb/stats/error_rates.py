"""Error rates that verdicts keep. docs/evidence describes how they were measured."""

# Chance of any false finding (different, changed, slow, faster) in one comparison, history, sweep of a fabric or search
# for algorithms.
ANY_FALSE = 0.01
# Chance that a check of the newest session raises a false alarm: at most 1 in 10 histories of 100 nightly checks has one.
FALSE_CHECK = 0.001
