"""What is on file of NCCL's environment variables.

Layer: judge. Models only; `config/facts/nccl-variables.yaml` is read by `commwall.judge.facts`.
"""

from typing import Annotated, Literal

from pydantic import StringConstraints

from commwall.schema.base import Model

Way = Literal["p2p", "shm", "net", "socket", "ib", "nvls"]
"""What a variable acts on: access between GPUs, host memory, any network, one kind of network, or
reduction in the switch."""
Release = Annotated[str, StringConstraints(pattern=r"^2\.[0-9]{1,2}$")]
"""NCCL's, without its last number."""


class Variable(Model):
    """One variable."""

    since: Release | None = None
    """First release that reads it, as far as sources are public (2.3)."""
    until: Release | None = None
    """Last release that reads it; None if the newest on file still does."""
    instead: str | None = None
    """What replaces it."""
    deprecated: Release | None = None
    """From here on it is still read, and another one should be set."""
    words: tuple[str, ...] = ()
    """Values it takes; with `least`, numbers as well."""
    case_counts: bool = False
    """Whether NCCL passes over a word in other letters, without saying so."""
    least: int | None = None
    most: int | None = None
    list_of: tuple[str, ...] = ()
    """Words of which it takes several, joined by commas and other marks."""
    words_since: dict[Release, tuple[str, ...]] = {}
    """First release that knows a word, where that is later than the variable's own."""
    words_until: dict[Release, tuple[str, ...]] = {}
    """Last release that knows a word."""
    acts_on: tuple[Way, ...] = ()
    """Empty: on all ways, or on none in particular."""
    mistaken_for: str | None = None
    """What people take it for, and what it really does."""
    mistaken_at: tuple[str, ...] = ()
    """Values at which that matters; empty: at all."""
    means_at: dict[str, str] = {}
    """Value -> what it does, where that is something else than `mistaken_for`."""


class Conflict(Model):
    """Two settings of which one makes the other void."""

    when: dict[str, str]
    """Variable -> value of the stronger one; `*` is any value."""
    void: str
    """The other one."""
    unless: str | None = None
    """Value of the other one at which nothing is contradicted."""
    says: str


class VariableFacts(Model):
    """Content of `nccl-variables.yaml`."""

    newest: Release
    """Newest release that was looked at."""
    variables: dict[str, dict[str, Variable]]
    """By the purpose they serve."""
    foreign: dict[str, str]
    """Names that look like NCCL's and are another program's -> what to know of them."""
    prefixes: dict[str, str]
    """Beginnings of names that plug-ins read -> whose."""
    conflicts: tuple[Conflict, ...]

    @property
    def known(self) -> dict[str, Variable]:
        """All variables by name."""
        return {name: one for group in self.variables.values() for name, one in group.items()}
