"""All launches of one run, while the devices are held.

Layer: measure. Writes records as soon as the launch that found them has ended.
"""

import errno
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from commwall.host.gpu_users import strangers_on
from commwall.host.locks import DeviceLock
from commwall.measure.assembly import Circumstances, Setting, assemble
from commwall.measure.duration import expected_cases_s, expected_start_s
from commwall.measure.kernels import Kernels
from commwall.measure.progress import START, Part, Progress
from commwall.measure.supervisor import Launch, LaunchOutcome, run_launch
from commwall.measure.tally import Tally, Visit
from commwall.measure.yardstick import Yardstick, YardstickFound
from commwall.records.layout import Layout
from commwall.records.store import write_record
from commwall.schema.case import CollectivesCase
from commwall.schema.config import Timeouts
from commwall.schema.result import LaunchRequest, NamedCase
from commwall.schema.units import time_text

FORGETTING_S = 3.0
"""A driver lists a process no longer than this after its end [s]."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Session:
    """Makes visits.

    Args:
        setting: what all records share.
        timeouts: when a launch is given up.
        locks: of the devices, held.
        tally: takes what happens.
        yardstick: nccl-tests, where the user names it.
    """

    def __init__(
        self,
        setting: Setting,
        timeouts: Timeouts,
        locks: tuple[DeviceLock, ...],
        tally: Tally,
        yardstick: Yardstick | None = None,
    ) -> None:
        self.setting, self.timeouts, self.locks, self.tally = setting, timeouts, locks, tally
        self.yardstick = yardstick
        self.order = tally.order
        self.suite = setting.plan.suite(setting.suite)
        self.kernels = Kernels(tally.order.root, setting)

    def run(self, visits: Sequence[Visit]) -> None:
        """Make every visit in turn; a full disk ends the run, other accidents do not.

        A round is begun only if the time that the run has is expected to suffice for all of it:
        what is left of a round that was cut short is measured anew.

        Raises:
            LaunchError: if processes cannot be started or ended.
            OSError: if a file cannot be written for another reason than a full disk.
        """
        parts_s = {part: s for visit in visits for part, s in self._parts_s(visit).items()}
        progress = Progress(self.order.say, self.suite.rounds, parts_s)
        begun: str | None = None
        for position, visit in enumerate(visits):
            try:
                if visit.round_id != begun and not self._may_begin(visits[position:]):
                    return
                begun = visit.round_id
                self._visit(visit, progress)
            except OSError as error:
                if error.errno not in NO_SPACE:
                    raise
                self.tally.note(visit, "disk_full", error.strerror or str(error))
                return

    def _may_begin(self, ahead: Sequence[Visit]) -> bool:
        """Have compiled what the next round needs, and see whether there is time for all of it."""
        own = [visit for visit in ahead if visit.round_id == ahead[0].round_id]
        expected_s = sum(map(self._expected_s, own))
        if expected_s <= self.tally.left_s:
            for visit in own:
                self._compile(visit)
        left_s = self.tally.left_s
        if expected_s <= left_s:
            return True
        self.tally.left = tuple(dict.fromkeys(visit.round for visit in ahead))
        self.order.say(
            f"round {ahead[0].round} is expected to take {time_text(expected_s)}, "
            f"{time_text(max(left_s, 0.0))} are left of this run; still due: "
            f"{'round' if len(self.tally.left) == 1 else 'rounds'} "
            f"{', '.join(map(str, self.tally.left))}"
        )
        return False

    def _compile(self, visit: Visit) -> None:
        """Have compiled what is not yet; what goes wrong is told when the case is measured."""
        waiting, number = self.kernels.missing(visit), 1
        while waiting:
            self.order.say(f"compiling {', '.join(waiting)}: up to a minute each")
            launch = self._launch(visit, f"compile-{visit.launch_name(number)}")
            request = self._request(visit, waiting, launch.folder)
            outcome = run_launch(request.model_copy(update={"only_compile": True}), launch)
            compiled = [result.case for result in outcome.results if result.status == "ok"]
            self.kernels.note(visit, compiled)
            waiting, number = outcome.remaining, number + 1

    def _visit(self, visit: Visit, progress: Progress) -> None:
        """Launch until every case has an outcome or an accident."""
        waiting, number = visit.cases, 1
        while waiting:
            launch = self._launch(visit, visit.launch_name(number))
            strangers = self._strangers(launch)
            if strangers:
                self.tally.note(visit, "contended", strangers, tuple(waiting))
                return
            request = self._request(visit, waiting, launch.folder)
            progress.begin(visit.round, visit.platform)
            outcome = run_launch(
                request, replace(launch, on_leg=lambda case, _: progress.case(case))
            )
            progress.end()
            disturbance = self._strangers(launch)
            self._keep(request, outcome, disturbance, self._beside(request, outcome, launch))
            self._tell_failures(outcome)
            if outcome.cause:
                self.tally.note(visit, outcome.cause, outcome.detail, outcome.lost, launch.log)
            waiting, number = outcome.remaining, number + 1

    def _strangers(self, launch: Launch) -> str | None:
        """Other programs on the GPUs of a launch that is not running.

        Workers that have just ended may be listed for a moment; who stays is a stranger.
        """
        deadline = time.monotonic() + FORGETTING_S
        while launch.gpus and (found := strangers_on(launch.gpus)):
            if time.monotonic() > deadline:
                return found
            time.sleep(FORGETTING_S / 10)
        return None

    def _beside(
        self, request: LaunchRequest, outcome: LaunchOutcome, launch: Launch
    ) -> dict[str, YardstickFound]:
        """What the yardstick says of every collective that was measured on GPUs."""
        if self.yardstick is None or not self.yardstick.measures(request.platform):
            return {}
        found = {}
        for result in outcome.results:
            case = self.suite.cases[result.case]
            if isinstance(case, CollectivesCase) and result.status == "ok":
                self.order.say(f"nccl-tests beside {result.case} on {request.platform.name}")
                found[result.case] = self.yardstick.measure(
                    case, request, outcome.variables, launch.folder
                )
        return found

    def _keep(
        self,
        request: LaunchRequest,
        outcome: LaunchOutcome,
        disturbance: str | None,
        yardsticks: dict[str, YardstickFound],
    ) -> None:
        circumstances = Circumstances(
            request=request,
            ended_at=outcome.ended_at,
            energy=outcome.energy,
            variables=outcome.variables,
            disturbance=disturbance,
            logged=outcome.logged,
            yardsticks=yardsticks,
            loopback=outcome.loopback,
            spans=outcome.spans,
        )
        layout = Layout(self.order.root)
        for result in outcome.results:
            write_record(layout, assemble(self.setting, circumstances, result))
            self.tally.measured += 1

    def _request(self, visit: Visit, cases: Sequence[str], folder: Path) -> LaunchRequest:
        platform = self.setting.plan.platform(visit.platform)
        cpus = self.setting.machine.facts.cpu_count
        return LaunchRequest(
            campaign=self.setting.plan.id,
            platform=platform,
            suite=self.setting.suite,
            round=visit.round,
            round_id=visit.round_id,
            cases=tuple(NamedCase(name=case, case=self.suite.cases[case]) for case in cases),
            output_dir=str(folder),
            cache_dir=str(Layout(self.order.root).kernels_dir().resolve()),
            threads_per_rank=max(1, cpus // platform.per_node),
            collective_timeout_s=self.timeouts.collective_s,
        )

    def _launch(self, visit: Visit, name: str) -> Launch:
        return Launch(
            folder=self.order.launches_dir / name,
            log=self.order.logs / f"{name}.log",
            timeouts=self.timeouts,
            inherited=tuple(lock.descriptor for lock in self.locks),
            gpus=self._gpus(visit),
            module=self.order.module,
            grace_s=self.order.grace_s,
            on_start=self._note_holders,
        )

    def _gpus(self, visit: Visit) -> tuple[str, ...]:
        """Digests of the GPUs of this node's ranks; none where they compute on the CPU."""
        platform = self.setting.plan.platform(visit.platform)
        gpus = self.setting.machine.facts.gpus[: platform.per_node]
        return tuple(gpu.uuid_digest for gpu in gpus) if platform.device == "cuda" else ()

    def _note_holders(self, launcher: int) -> None:
        for lock in self.locks:
            lock.note_holders(os.getpid(), launcher)

    def _tell_failures(self, outcome: LaunchOutcome) -> None:
        """What did not go well is told; all else is what was expected."""
        for result in outcome.results:
            if result.status != "ok":
                cause = f" ({result.cause.replace('_', ' ')})" if result.cause else ""
                self.order.say(f"  {result.case} {result.status}{cause}")

    def _parts_s(self, visit: Visit) -> dict[Part, float]:
        """Expected time of the start of a visit's processes and of each of its cases [s]."""
        place = self.setting.plan.platform(visit.platform)
        device, ranks = place.device, place.world_size
        cases = [self.suite.cases[name] for name in visit.cases]
        parts_s = zip(visit.cases, expected_cases_s(cases, device, ranks), strict=True)
        all_s = {START: expected_start_s(cases, device), **dict(parts_s)}
        return {Part(visit.round, visit.platform, name): s for name, s in all_s.items()}

    def _expected_s(self, visit: Visit) -> float:
        return sum(self._parts_s(visit).values())
