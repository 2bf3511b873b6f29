"""The conformance kit: test any decoder that speaks a small protocol on vectors and segments.

``docs/guide/conform.md`` says what a testee must understand; ``kafkaspec conform`` runs one.
Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkaspec.lazy import attach

if TYPE_CHECKING:
    from kafkaspec.conformance.cases import Case as Case
    from kafkaspec.conformance.goldens import golden_cases as golden_cases
    from kafkaspec.conformance.process import Testee as Testee
    from kafkaspec.conformance.runner import ExpectedFailure as ExpectedFailure
    from kafkaspec.conformance.runner import Result as Result
    from kafkaspec.conformance.runner import Run as Run
    from kafkaspec.conformance.runner import read_expected as read_expected
    from kafkaspec.conformance.serving import serve as serve
    from kafkaspec.conformance.vectors import vector_cases as vector_cases
else:
    __getattr__, __dir__, __all__ = attach(__name__)
