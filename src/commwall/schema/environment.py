"""What an environment says of itself: its manifest.

Layer: schema. Stored as `.envs/<name>/manifest.json`, and as `origin/bench.json` of a campaign
that came in a bundle.
"""

from typing import Literal, Self

from pydantic import model_validator

from commwall.schema.base import Model, digest


class Difference(Model):
    """A package that an environment holds otherwise than its lock says."""

    name: str
    locked: str | None
    """None: the lock does not name it (an extra, such as the libraries of a CUDA build)."""
    present: str | None
    """None: it is missing."""


class Manifest(Model):
    """What an environment consists of; holds no path but that of an adopted interpreter."""

    schema_version: Literal[1] = 1
    name: str
    mode: Literal["installed", "adopted"]
    adopted_from: str | None = None
    """The interpreter whose packages are used; never part of a digest."""
    python: str
    """Version of the interpreter."""
    lock_digest: str
    """The lock this environment was made from or compared with."""
    packages: dict[str, str]
    packages_digest: str
    """SHA-256 of `packages`; a list that was edited does not agree with it."""
    differences: tuple[Difference, ...]
    """Departures from the lock."""

    @property
    def identity(self) -> str:
        """What stands for the software in a freshness key: the lock, or what was adopted."""
        return self.lock_digest if self.mode == "installed" else f"adopted-{self.packages_digest}"

    @model_validator(mode="after")
    def _packages_as_written(self) -> Self:
        if digest(self.packages) != self.packages_digest:
            raise ValueError("packages and packages_digest disagree: one of them was edited")
        if self.mode == "installed" and self.adopted_from is not None:
            raise ValueError("an installed environment is adopted from nowhere")
        return self
