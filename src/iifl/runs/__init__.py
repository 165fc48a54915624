"""A run on disk: configuration, manifest, journal, checkpoints."""
