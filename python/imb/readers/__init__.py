"""Reads logs of other programs into records, with a reader for each format; imb.readers.formats lists them."""
