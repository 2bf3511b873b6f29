"""Errors travel between processes whole, as Spark's workers send them."""

from __future__ import annotations

import copy
import pickle

import pytest

from kafkaspec.errors import KafkaSpecError, Reason, make_error


@pytest.mark.parametrize("reason", Reason)
def test_an_error_pickles_whole(reason: Reason) -> None:
    error = make_error(
        reason, "detail", file="f", offset=3, inner_offset=4, path="/path", spec="a.ksy#/seq/0"
    )
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for other in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
            assert isinstance(other, KafkaSpecError)
            assert type(other) is type(error)
            assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))
