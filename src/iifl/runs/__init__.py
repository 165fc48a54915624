"""A run on disk: configuration, manifest, journal, checkpoints, summary, each written so that it survives a kill."""
