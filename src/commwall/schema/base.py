"""Common ground of all models: immutability, names, canonical text and digests.

Layer: schema. Reads and writes no file.
"""

import hashlib
import json
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME_PATTERN = r"^[a-z0-9]+([.-][a-z0-9]+)*$"
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN, max_length=60)]
"""A word that is safe as a folder name: lower-case letters and digits, joined by '-' or '.'."""

Words = Annotated[str, StringConstraints(max_length=1000)]
"""A text that figures show: so long that it spoils them, and no longer."""

PositiveInt = Annotated[int, Field(gt=0)]
PositiveFloat = Annotated[float, Field(gt=0)]
Duration = Annotated[float, Field(gt=0, le=86400)]
"""A time that something is allowed to take: at most a day [s]."""
Bytes = Annotated[int, Field(gt=0, le=2**40)]
"""A size of a buffer: at most 1 TiB, more than any device holds [byte]."""
Samples = Annotated[int, Field(gt=0, le=2**20)]
"""Samples of a batch, or tokens of a sample."""
WorldSize = Annotated[int, Field(gt=0, le=1024)]
"""Processes of a launch."""
NonNegativeFloat = Annotated[float, Field(ge=0)]


class Model(BaseModel):
    """Immutable, refuses unknown keys and numbers that are not finite."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        defer_build=True,  # a verb builds only the models it uses, and starts twice as fast
    )


def canonical_json(value: Any) -> str:
    """The one text of a JSON value: sorted keys, no blanks, no NaN.

    Args:
        value: anything `json` can write, or a Model.

    Raises:
        ValueError: if a number is not finite.
    """
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
