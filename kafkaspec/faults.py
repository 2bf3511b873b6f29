"""The error about data that says where; it comes along with code that is generated for others."""

from __future__ import annotations

from enum import StrEnum


class FormatError(ValueError):
    """Root of all errors about data.

    Attributes:
        reason: why, from the closed list ``Reason``.
        detail: one sentence for people, without the position.
        file: path or name of the input, None for a bare buffer.
        position: absolute byte offset at which the failing field begins, None when nothing was
            read.
        path: path of the field in the data, ids of the specification joined by ``/``.
        spec: file and path in the specification, ``name.ksy#/types/record/seq/3``.
    """

    reason: StrEnum
    detail: str
    file: str | None
    position: int | None
    path: str
    spec: str

    def __init__(
        self,
        detail: str,
        *,
        reason: StrEnum,
        file: str | None = None,
        position: int | None = None,
        path: str = "",
        spec: str = "",
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason
        self.file = file
        self.position = position
        self.path = path
        self.spec = spec

    def __str__(self) -> str:
        where = self._place()
        if self.path:
            where += f" {self.path}" if where else self.path
        text = f"{where}: {self.detail}" if where else self.detail
        text += f" [{self.reason}]"
        return f"{text} ({self.spec})" if self.spec else text

    def _place(self) -> str:
        where = self.file or ""
        if self.position is not None:
            where += f" at byte {self.position}" if where else f"byte {self.position}"
        return where

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not pickle by themselves.
        return ValueError.__new__, (type(self), self.detail), dict(self.__dict__)
