"""The messages of the specification against the schemas in the jars of each release."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kafka.chosen import VERSIONS
from tools.brokers.programs import Program
from tools.brokers.versions import Version
from tools.import_messages import jars
from tools.import_messages.__main__ import SPEC, schemas_of
from tools.import_messages.check import differences
from tools.specgen.loader import load


@pytest.mark.kafka
@pytest.mark.parametrize(
    "version", [v for v in VERSIONS if v in jars.releases()], ids=lambda version: version.name
)
def test_the_specification_has_the_schemas_of_a_release(version: Version) -> None:
    schemas = schemas_of(version)
    assert len(schemas) >= 4
    assert list(differences(load(SPEC), schemas, version.name)) == []


_PACKAGE = "org.apache.kafka."
_ENUMERATIONS = {
    "acl_operation": "common.acl.AclOperation",
    "acl_permission_type": "common.acl.AclPermissionType",
    "broker_registration_fencing_change": "metadata.BrokerRegistrationFencingChange",
    "broker_registration_in_controlled_shutdown_change": (
        "metadata.BrokerRegistrationInControlledShutdownChange"
    ),
    "config_resource_type": "common.config.ConfigResource$Type",
    "leader_recovery_state": "metadata.LeaderRecoveryState",
    "member_state": "coordinator.group.modern.MemberState",
    "pattern_type": "common.resource.PatternType",
    "record_state": "server.share.fetch.RecordState",
    "remote_log_segment_state": "server.log.remote.storage.RemoteLogSegmentState",
    "remote_partition_delete_state": "server.log.remote.storage.RemotePartitionDeleteState",
    "resource_type": "common.resource.ResourceType",
    "scram_mechanism": "clients.admin.ScramMechanism",
    "security_protocol": "common.security.auth.SecurityProtocol",
    "streams_member_state": "coordinator.group.streams.MemberState",
    "transaction_state": "coordinator.transaction.TransactionState",
    "zk_migration_state": "metadata.migration.ZkMigrationState",
}
"""Kafka's classes for the enumerations of the specification, but for ``truth``."""
_NEWEST = "4.4.0"
_GONE = {"zk_migration_state": "3.9.2"}
"""Enumerations that the newest release no longer has, with the last one that does."""
_NO_CONSTANT = {"leader_recovery_state": {(-1, "NO_CHANGE", "NO_CHANGE")}}
"""What is no constant of the enumeration in Kafka, but a number beside it."""


@pytest.mark.kafka
@pytest.mark.parametrize(
    "version",
    [v for v in VERSIONS if v.name in ("3.9.2", "4.4.0")],
    ids=lambda version: version.name,
)
def test_numbers_have_kafkas_names(version: Version, tmp_path: Path) -> None:
    (spec,) = [spec for spec in load(SPEC).specs if spec.id == "enumeration"]
    assert {enum.id for enum in spec.enums} == _ENUMERATIONS.keys() | {"truth"}
    with Program(version, tmp_path, "Enumerations") as program:
        for enum in spec.enums:
            if enum.id == "truth" or _GONE.get(enum.id, _NEWEST) != version.name:
                continue
            answers = program.ask("Enumerations", _PACKAGE + _ENUMERATIONS[enum.id])
            kafka = {(int(number), name, text) for number, name, text in answers}
            ours = {(value.value, value.id.upper(), value.shown) for value in enum.values}
            assert ours == kafka | _NO_CONSTANT.get(enum.id, set()), enum.id
