"""python -m imb: what submitted jobs call, whatever their PATH."""

from imb.cli import main

main()
