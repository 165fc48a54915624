"""What learns: explicit and implicit policies. Nothing here knows of robots or people."""
