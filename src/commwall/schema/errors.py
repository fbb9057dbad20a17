"""What can go wrong for a user, and how it is told.

Layer: schema. Every error names what was being done, where, what was found, what was
expected and what to do next; only `commwall.cli` prints it.
"""


class CommwallError(Exception):
    """An error a user can act on.

    Args:
        what: what was being done and failed, one sentence.
        where: file, key, rank or field concerned.
        found: what was there.
        expected: what should have been there.
        next_step: what to do now.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.parts = {"where": where, "found": found, "expected": expected, "next": next_step}

    def __str__(self) -> str:
        lines = [f"{type(self).__name__}: {self.what}"]
        for key, text in self.parts.items():
            if text is not None:
                indented = text.replace("\n", "\n" + " " * 12)
                lines.append(f"  {key:<9} {indented}")
        return "\n".join(lines)


class ConfigError(CommwallError):
    """A configuration file that cannot be used; lists every problem at once."""


class PlanError(CommwallError):
    """A campaign plan that is malformed or does not belong to this machine."""


class RecordError(CommwallError):
    """A record that is not what it says: edited, truncated, misplaced or of another version."""


class IncomparableRecords(CommwallError):
    """Two records that differ in a field that must agree before they are compared."""


class ProvisionError(CommwallError):
    """An environment that cannot be made from its lock or adopted."""


class Busy(CommwallError):
    """Another run holds the checkout or the device."""


class LaunchError(CommwallError):
    """Worker processes that could not be started at all."""


class UnitError(CommwallError):
    """A quantity outside the range in which its formula holds."""


class WorkMissing(CommwallError):
    """Records that this machine owes and does not have."""
