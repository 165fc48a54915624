"""People of flesh and blood, each at a page of their own in a browser on this machine (docs/people.md)."""
