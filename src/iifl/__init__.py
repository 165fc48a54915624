"""Implicit interactive fleet learning."""
