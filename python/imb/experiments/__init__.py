"""What commands that launch are to a session: their launches, their verdict, and how it is shown."""
