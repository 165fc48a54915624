"""Runs → tables, figures and one HTML page; reads files only."""
