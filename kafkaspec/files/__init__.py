"""Indexes, snapshots and checkpoints, and the names of all files of a log directory."""
