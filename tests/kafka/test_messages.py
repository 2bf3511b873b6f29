"""The messages of the specification against the schemas in the jars of each release."""

from __future__ import annotations

import pytest

from tests.kafka.chosen import VERSIONS
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
