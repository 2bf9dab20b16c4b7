"""Other people's text -> records: a reader for each format, registered in imb.readers.formats."""
