"""A text that a reader does not read, and why.

Layer: readers. Reads no file.
"""


class Unreadable(Exception):
    """Nothing of the kind is certain in a text.

    Args:
        kind: what the text looks like; None where it looks like nothing that is known.
        reason: one word, joined by underscores: no_matrix, say.
    """

    def __init__(self, kind: str | None, reason: str) -> None:
        super().__init__(f"{kind or 'unknown kind'}: {reason}")
        self.kind = kind
        self.reason = reason
