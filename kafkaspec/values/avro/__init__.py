"""Avro: payloads of a schema as typed columns, read by the rules of another schema if asked."""
