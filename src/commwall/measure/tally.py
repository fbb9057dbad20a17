"""What the measuring verb was asked to do, and what has happened so far.

Layer: measure. Writes the attempt file.
"""

import math
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from commwall.host.locks import WAIT_S
from commwall.measure.progress import Say
from commwall.measure.supervisor import GRACE_S, WORKER_MODULE
from commwall.records.state import Accident, AccidentCause, Attempt, write_attempt
from commwall.schema.case import SuiteName
from commwall.schema.errors import LaunchError


@dataclass(frozen=True)
class Order:
    """What the verb was asked to do, and with what."""

    root: Path
    campaign: str
    suite: SuiteName
    attempt: Path
    """Where the attempt file goes."""
    logs: Path
    """Folder for the workers' output."""
    say: Say
    """Takes lines of progress."""
    module: str = WORKER_MODULE
    """What becomes the workers; another module in tests."""
    lock_folder: Path | None = None
    """Where the device locks lie; None takes the one of all users."""
    lock_wait_s: float = WAIT_S
    grace_s: float = GRACE_S
    within_s: float | None = None
    """No round is begun that is not expected to end within this time of the run's start [s]."""
    cases: tuple[str, ...] = ()
    """The only cases to measure now; none named are all."""

    @property
    def launches_dir(self) -> Path:
        """Folder of requests and results on their way."""
        return self.root / ".cw/launch" / self.campaign / self.suite


class Visit(NamedTuple):
    """One platform in one round, with the cases due on it."""

    round: int
    round_id: str
    platform: str
    cases: tuple[str, ...]

    def launch_name(self, number: int) -> str:
        """Name of the visit's first, second, … launch."""
        return f"r{self.round:02d}-{self.platform}-{number}"


@dataclass
class Tally:
    """What has happened so far."""

    order: Order
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_s: float = field(default_factory=time.monotonic)
    """The same on the monotonic clock [s]."""
    measured: int = 0
    accidents: list[Accident] = field(default_factory=list)
    left: tuple[int, ...] = ()
    """Rounds that were not begun for want of time."""

    @property
    def left_s(self) -> float:
        """Time that the run still has [s]."""
        within_s = self.order.within_s
        return math.inf if within_s is None else within_s - (time.monotonic() - self.started_s)

    def note(
        self,
        visit: Visit,
        cause: AccidentCause,
        detail: str,
        cases: tuple[str, ...] | None = None,
        log: Path | None = None,
    ) -> None:
        """Write down an accident and tell it.

        Args:
            visit: where it happened.
            cause: what it was.
            detail: what is known of it.
            cases: those that were hit; None for all of the visit.
            log: output of the launch, if there was one.
        """
        hit = visit.cases if cases is None else cases
        shown = below(self.order.root, log) if log else ""
        self.accidents.append(
            Accident(
                round=visit.round,
                platform=visit.platform,
                cases=hit,
                cause=cause,
                detail=detail,
                log=shown,
            )
        )
        place = f"{visit.platform}, round {visit.round}, {', '.join(hit)}"
        self.order.say(f"  accident: {cause.replace('_', ' ')} ({place}): {detail}")
        self.order.say(f"  {'log ' + shown + '; ' if shown else ''}the next run measures it again")

    def write(self, refused: str | None = None) -> Attempt:
        """Write the attempt file.

        Args:
            refused: why nothing was measured at all.

        Raises:
            LaunchError: if the file cannot be written.
        """
        attempt = Attempt(
            campaign=self.order.campaign,
            suite=self.order.suite,
            started_at=self.started_at,
            ended_at=datetime.now(UTC),
            measured=self.measured,
            accidents=tuple(self.accidents),
            left=self.left,
            refused=refused,
        )
        try:
            write_attempt(self.order.attempt, attempt)
        except OSError as error:
            raise LaunchError(
                "the outcome of this run cannot be written",
                where=below(self.order.root, self.order.attempt),
                found=error.strerror,
                next_step="free some space and run again; records written so far are kept",
            ) from error
        return attempt


def below(root: Path, path: Path) -> str:
    """A path as seen from the checkout; one elsewhere is told by its last part alone."""
    absolute, base = path.resolve(), root.resolve()
    return str(absolute.relative_to(base)) if absolute.is_relative_to(base) else path.name
