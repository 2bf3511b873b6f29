"""The reference codec: classes of the official Kaitai Struct compiler with the common protocol.

``positions`` of the codec says where each field of a value lies, which no other codec does.
"""
