"""What a broker does is in closed lists of one module; actions on segments are ones on logs."""

from __future__ import annotations

from kafkaspec.analysis.consequences import BAD_FILE
from kafkaspec.broker.actions import BrokerAction, Recovery
from kafkaspec.forensics.doctor.troubles import FAULTS, Effect


def test_each_list_of_actions_is_in_broker() -> None:
    assert {each.__module__ for each in (BrokerAction, Recovery)} == {"kafkaspec.broker.actions"}
    assert {each.action for each in Recovery} <= set(BrokerAction)


def test_verify_and_doctor_judge_text_files_by_the_same_actions() -> None:
    assert BAD_FILE.keys() == FAULTS.keys()
    assert all(found.action is action for action, found in BAD_FILE.items())
    assert {effect for effect, _ in FAULTS.values()} <= set(Effect)
