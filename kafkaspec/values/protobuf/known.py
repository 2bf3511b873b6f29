"""Files that registries know without being given them."""

from __future__ import annotations

from pathlib import Path

import grpc_tools

LIBRARIES = Path(grpc_tools.__file__).resolve().parent.parent
"""The folder that has the package with protoc."""

WELL_KNOWN = LIBRARIES / "grpc_tools" / "_proto"
"""The folder with ``google/protobuf/*.proto``."""

_META = """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
"""
_DECIMAL = """syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
"""

CONFLUENT = {"confluent/meta.proto": _META, "confluent/type/decimal.proto": _DECIMAL}
"""Texts that Confluent's registry has built in, by path."""


def is_well_known(path: str) -> bool:
    """Return whether protoc brings the file with it."""
    return path.startswith("google/protobuf/") and (WELL_KNOWN / path).is_file()
