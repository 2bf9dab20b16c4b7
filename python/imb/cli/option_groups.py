"""Groups of options, in the order of a page of help. An option names its group (`rich_help_panel`)."""

SUBJECT = "What to measure"
METHOD = "How to measure"
PLACE = "Where to launch"
SESSION = "Session and job"
JUDGMENT = "Judgment"
OUTPUT = "Output"
OTHER = "Options"
ORDER = (SUBJECT, METHOD, PLACE, SESSION, JUDGMENT, OUTPUT, OTHER)
