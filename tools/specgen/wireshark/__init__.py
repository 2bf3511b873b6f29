"""Emit a dissector for Wireshark, in Lua."""
