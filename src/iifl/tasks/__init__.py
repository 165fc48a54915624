"""The worlds: one file each, all of them fleets."""
