"""Bytes of local and remote files: mapped, or read in windows."""
