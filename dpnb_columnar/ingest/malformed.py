"""What a reader says of a field that does not spell what its variable is declared to hold. Never what stands there."""

from __future__ import annotations


class MalformedFieldError(ValueError):
    """One field of many that were read together is not as declared.

    Attributes:
        row: Its place among those read together, from 0.
    """

    def __init__(self, row: int) -> None:
        super().__init__("malformed field")
        self.row = row
