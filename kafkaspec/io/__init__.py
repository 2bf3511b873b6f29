"""Bytes of local files and of files behind URLs: mapped, or read in windows."""
