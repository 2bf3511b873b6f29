"""Files that registries know without being given them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorProto

LIBRARIES = Path(grpc_tools.__file__).resolve().parent.parent
"""The folder that has the package with protoc."""

WELL_KNOWN = LIBRARIES / "grpc_tools" / "_proto"
"""The folder with ``google/protobuf/*.proto``."""

_CONFLUENT = {
    "meta": """package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }""",
    "type/decimal": """package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }""",
}

_GOOGLE_TYPES = {
    "calendar_period": """enum CalendarPeriod {
  CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; FORTNIGHT = 3; MONTH = 4; QUARTER = 5;
  HALF = 6; YEAR = 7; }""",
    "color": """import "google/protobuf/wrappers.proto";
message Color {
  float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }""",
    "date": "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "datetime": """import "google/protobuf/duration.proto";
message DateTime {
  int32 year = 1; int32 month = 2; int32 day = 3;
  int32 hours = 4; int32 minutes = 5; int32 seconds = 6; int32 nanos = 7;
  oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } }
message TimeZone { string id = 1; string version = 2; }""",
    "dayofweek": """enum DayOfWeek {
  DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY = 5;
  SATURDAY = 6; SUNDAY = 7; }""",
    "decimal": "message Decimal { string value = 1; }",
    "expr": """message Expr {
  string expression = 1; string title = 2; string description = 3; string location = 4; }""",
    "fraction": "message Fraction { int64 numerator = 1; int64 denominator = 2; }",
    "interval": """import "google/protobuf/timestamp.proto";
message Interval {
  google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }""",
    "latlng": "message LatLng { double latitude = 1; double longitude = 2; }",
    "localized_text": "message LocalizedText { string text = 1; string language_code = 2; }",
    "money": "message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }",
    "month": """enum Month {
  MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6;
  JULY = 7; AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }""",
    "phone_number": """message PhoneNumber {
  message ShortCode { string region_code = 1; string number = 2; }
  oneof kind { string e164_number = 1; ShortCode short_code = 2; }
  string extension = 3; }""",
    "postal_address": """message PostalAddress {
  int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4;
  string sorting_code = 5; string administrative_area = 6; string locality = 7;
  string sublocality = 8; repeated string address_lines = 9; repeated string recipients = 10;
  string organization = 11; }""",
    "quaternion": "message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }",
    "timeofday": """message TimeOfDay {
  int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }""",
}

_SYNTAX = 'syntax = "proto3";'

REGISTRIES = {
    **{f"confluent/{name}.proto": f"{_SYNTAX}\n{text}" for name, text in _CONFLUENT.items()},
    **{
        f"google/type/{name}.proto": f"{_SYNTAX}\npackage google.type;\n{text}"
        for name, text in _GOOGLE_TYPES.items()
    },
}
"""Texts that registries have built in, so that schemas import them without a reference, by path."""

_BUILT_IN = {
    f"google/protobuf/{name}.proto": f"google.protobuf.{name}_pb2"
    for name in ("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")
}


def is_well_known(path: str) -> bool:
    """Return whether protoc brings the file with it."""
    return path.startswith("google/protobuf/") and (WELL_KNOWN / path).is_file()


def imported_texts() -> dict[str, str]:
    """Return the texts of files that schemas import without a reference, by path."""
    own = sorted((WELL_KNOWN / "google" / "protobuf").glob("*.proto"))
    texts = {path.relative_to(WELL_KNOWN).as_posix(): path.read_text("utf-8") for path in own}
    return texts | REGISTRIES


def built_in_file(path: str) -> FileDescriptorProto | None:
    """Return the descriptor of a file that Google's library has, which imports no other."""
    if path not in _BUILT_IN:
        return None
    file = FileDescriptorProto()
    import_module(_BUILT_IN[path]).DESCRIPTOR.CopyToProto(file)
    return file
