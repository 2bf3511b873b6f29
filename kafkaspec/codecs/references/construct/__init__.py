"""The codec made of Construct definitions: a second opinion, and something to use in a REPL.

The package ``construct`` is an extra. Without it this module still imports, and making a
``ConstructCodec`` says what to install.
"""
