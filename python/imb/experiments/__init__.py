"""The experiments of commands that launch: their launches, their verdict, and how it is shown."""
