"""Files that registries know without being given them."""

from __future__ import annotations

from pathlib import Path

import grpc_tools
from google.protobuf import (
    any_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    struct_pb2,
    timestamp_pb2,
    wrappers_pb2,
)
from google.protobuf.descriptor_pb2 import FileDescriptorProto

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

_MODULES = {
    module.DESCRIPTOR.name: module
    for module in (
        any_pb2,
        duration_pb2,
        empty_pb2,
        field_mask_pb2,
        struct_pb2,
        timestamp_pb2,
        wrappers_pb2,
    )
}


def is_well_known(path: str) -> bool:
    """Return whether protoc brings the file with it."""
    return path.startswith("google/protobuf/") and (WELL_KNOWN / path).is_file()


def built_in_file(path: str) -> FileDescriptorProto | None:
    """Return the descriptor of a file that Google's library has, which imports no other."""
    module = _MODULES.get(path)
    if module is None:
        return None
    file = FileDescriptorProto()
    module.DESCRIPTOR.CopyToProto(file)
    return file
