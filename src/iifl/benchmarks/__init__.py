"""Speed, always as a ratio of two things measured in turns in one run."""
