"""`commwall tune`: what a workload gains by combinations of mitigations, searched within a time.

Layer: measure. Starts launches of suite mitigations; `outcome` writes what they found.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from commwall.measure.duration import ALLOWANCES, STEP_BLOCKS, WINDOW_SHARE, expected_start_s
from commwall.measure.kernels import compiled_part
from commwall.measure.progress import Say
from commwall.measure.supervisor import Launch, run_launch
from commwall.measure.tuning.candidates import Candidate, Choice
from commwall.measure.tuning.halving import Costs, Halving, least_time_s, schedule_within
from commwall.measure.tuning.outcome import Evidence, Found, Offered, Tried
from commwall.schema.base import digest
from commwall.schema.case import COMPILING, Leg
from commwall.schema.errors import PlanError
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.plan import PlannedPlatform
from commwall.schema.result import LaunchRequest, NamedCase
from commwall.schema.treatment import NcclVariables
from commwall.schema.units import significant, time_text

LEAST_WINDOW_S = 0.4
"""Chosen: a shorter window holds too few steps to say anything [s]."""
SAME_ARITHMETIC = "none: same arithmetic"
FEWEST = 4
"""Chosen: a search among fewer candidates is none."""
FILLER = Mitigation(static_graph=True)
"""Runs where only the unmitigated step of a launch is of interest."""
Variables = tuple[tuple[str, str], ...]


class _Clock:
    """Whether there is time for a rung, by what those before took.

    Args:
        costs: what rungs are expected to take.
        first_s: what the first one is expected to take [s].
        end_s: when the search must be over, on the monotonic clock [s].
    """

    def __init__(self, costs: Costs, first_s: float, end_s: float) -> None:
        self._costs, self._expected_s, self._end_s = costs, first_s, end_s
        self._began_s = time.monotonic()

    def may_begin(self, candidates: int, window_s: float) -> bool:
        """Whether a rung is expected to end in time, on a machine that is as slow as it was."""
        wanted_s, now_s = self._costs.of(candidates, window_s), time.monotonic()
        slow = max(1.0, (now_s - self._began_s) / self._expected_s)
        self._expected_s += wanted_s
        return now_s + slow * wanted_s <= self._end_s


@dataclass
class Tuner:
    """Searches the best of several candidates for one workload on one platform."""

    workload: StepCase
    """Any case that trains it; its mitigation does not matter."""
    platform: PlannedPlatform
    request: Callable[[PlannedPlatform, tuple[NamedCase, ...], Path], LaunchRequest]
    launch: Callable[[str], Launch]
    """A launch by its name."""
    say: Say
    price_of: Callable[[Mitigation], str]
    """What a mitigation that changes the arithmetic costs, in words."""
    tried: list[Tried] = field(default_factory=list)

    def tune(self, choice: Choice, within_s: float) -> Found:
        """Search within a time.

        Raises:
            PlanError: if the time does not suffice for a look at every candidate.
            LaunchError: if workers cannot be started or ended.
        """
        began_s = time.monotonic()
        self._compile(choice)
        left_s = within_s - (time.monotonic() - began_s)
        choice = self._affordable(choice, left_s)
        costs, count = self._costs(choice), len(choice.candidates)
        schedule = schedule_within(count, left_s, costs, LEAST_WINDOW_S)
        if schedule is None:
            raise _too_short(count, within_s, least_time_s(count, costs, LEAST_WINDOW_S))
        clock = _Clock(costs, costs.of(count, schedule.window_s), began_s + within_s)
        halving = Halving(self._measure)
        best = halving.search(choice.candidates, schedule, clock.may_begin)
        gain = None
        if best:
            last = halving.rungs[-1].scores[best] if halving.confirmed else halving.score(best)
            gain = math.exp(last)
            best = best if gain > 1 else None
        found = self._evidence(choice, within_s, began_s, best, gain)
        return Found(best, found.model_copy(update={"confirmed": halving.confirmed}))

    def _evidence(
        self,
        choice: Choice,
        within_s: float,
        began_s: float,
        best: Candidate | None,
        gain: float | None,
    ) -> Evidence:
        return Evidence(
            workload=self.workload,
            platform=self.platform,
            ended_at=datetime.now(UTC),
            within_s=within_s,
            took_s=time.monotonic() - began_s,
            candidates=tuple(map(self._offered, choice.candidates)),
            left_out=choice.left_out,
            best=self._offered(best) if best else None,
            gain=gain,
            tried=tuple(self.tried),
        )

    def _offered(self, candidate: Candidate) -> Offered:
        own = candidate.mitigation
        price = self.price_of(own) if own and own.numerical else SAME_ARITHMETIC
        return Offered(words=candidate.words, price=price)

    def _affordable(self, choice: Choice, left_s: float) -> Choice:
        """The candidates that the time suffices for, at least FEWEST; others are named."""
        own, whole_s = choice, self._least_s(choice)
        while len(own.candidates) > FEWEST and self._least_s(own) > left_s:
            own = Choice(own.candidates[:-1], own.left_out)
        dropped = choice.candidates[len(own.candidates) :]
        why = f"no time; {time_text(whole_s)} would do for all"
        lines = tuple(f"{candidate.words}: {why}" for candidate in dropped)
        for line in lines:
            self.say(f"not tried  {line}")
        return Choice(own.candidates, (*own.left_out, *lines))

    def _least_s(self, choice: Choice) -> float:
        return least_time_s(len(choice.candidates), self._costs(choice), LEAST_WINDOW_S)

    def _costs(self, choice: Choice) -> Costs:
        """What a search takes besides windows.

        Every set of variables needs a launch of its own, whose first case builds the plain step.
        """
        allowance = ALLOWANCES[self.platform.device]
        start_s = expected_start_s([self.workload], self.platform.device)
        launches = len({(), *(candidate.variables for candidate in choice.candidates)})
        blocks_s = allowance.leg_s + allowance.warmup_share * self.workload.windows.warmup_max_s
        return Costs(
            rung_s=launches * (start_s + allowance.case_s),
            candidate_s=allowance.anew_s + allowance.case_s + STEP_BLOCKS * blocks_s,
            windows=2 * WINDOW_SHARE,
        )

    def _compile(self, choice: Choice) -> None:
        """Have compiled what the candidates run, which may take the first launch minutes."""
        own = [self._case(c.mitigation or FILLER, LEAST_WINDOW_S) for c in choice.candidates]
        compiled = [case for case in own if {case.step_mode, case.mitigated_mode} & COMPILING]
        cases = {digest(compiled_part(case)): case for case in compiled}.values()
        if not cases:
            return
        self.say(f"compiling {self.workload.model} {self.workload.preset}")
        launch = self.launch("compile")
        named = tuple(NamedCase(name=f"c{i}", case=case) for i, case in enumerate(cases))
        request = self.request(self.platform, named, launch.folder)
        run_launch(request.model_copy(update={"only_compile": True}), launch)

    def _measure(self, left: tuple[Candidate, ...], window_s: float) -> dict[Candidate, float]:
        """One rung: a launch for each set of variables, the plain one among them."""
        rung = max((tried.rung for tried in self.tried), default=0) + 1
        self.say(f"rung {rung}: {len(left)} candidates, {significant(window_s)} s with and without")
        groups: dict[Variables, list[Candidate]] = {(): []}
        for candidate in left:
            groups.setdefault(candidate.variables, []).append(candidate)
        order = list(groups)[:: 1 if rung % 2 else -1]  # a drift weighs on both ends in turn
        for variables in order:
            self._run(rung, variables, groups[variables], window_s)
        return dict(self._scores(rung, left))

    def _run(self, rung: int, variables: Variables, own: list[Candidate], window_s: float) -> None:
        """Launch the candidates of one set of variables until each has had its turn."""
        asked = dict.fromkeys(c.mitigation for c in own if c.mitigation) or {FILLER: None}
        cases = {f"c{place}": self._case(each, window_s) for place, each in enumerate(asked)}
        platform, waiting, number = with_variables(self.platform, variables), tuple(cases), 1
        while waiting:
            launch = self.launch(f"rung{rung}-{digest(variables)[:8]}-{number}")
            named = tuple(NamedCase(name=name, case=cases[name]) for name in waiting)
            outcome = run_launch(self.request(platform, named, launch.folder), launch)
            self.tried += [
                Tried(
                    rung=rung,
                    variables=dict(variables),
                    mitigation=cases[result.case].mitigation,
                    result=result,
                )
                for result in outcome.results
            ]
            if outcome.cause:
                self.say(f"{', '.join(outcome.lost)}: {outcome.cause}, {outcome.detail}")
            waiting, number = outcome.remaining, number + 1

    def _case(self, mitigation: Mitigation, window_s: float) -> StepCase:
        windows = self.workload.windows.model_copy(update={"full_s": window_s})
        return self.workload.model_copy(update={"mitigation": mitigation, "windows": windows})

    def _scores(self, rung: int, left: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, float]]:
        """Logarithm of the plain time of a sample over a candidate's, of those measured well."""
        own = [t for t in self.tried if t.rung == rung and t.result.status == "ok"]
        plain_s = [self._sample_s(t, "full") for t in own if not t.variables]
        for candidate in left:
            same = [t for t in own if t.variables == dict(candidate.variables)]
            if candidate.mitigation is None:
                times_s = [self._sample_s(t, "full") for t in same]
            else:
                same = [t for t in same if t.mitigation == candidate.mitigation]
                times_s = [self._sample_s(t, "mitigated") for t in same]
            # Without variables of its own a candidate has its plain step in the same launch.
            beside_s = plain_s if candidate.variables else [self._sample_s(t, "full") for t in same]
            if times_s and beside_s:
                yield candidate, math.log(median(beside_s) / median(times_s))

    def _sample_s(self, tried: Tried, leg: Leg) -> float:
        """Median time of a batch of the workload's size on the slowest rank [s]."""
        ranks = [
            series.values
            for series in tried.result.series
            if (series.metric, series.leg, series.phase) == ("step_time_s", leg, "measured")
        ]
        batches = tried.mitigation.batches if leg == "mitigated" else 1
        step_s: float = median(max(times) for times in zip(*ranks, strict=True))
        return step_s / batches


def with_variables(platform: PlannedPlatform, variables: Variables) -> PlannedPlatform:
    """The platform with NCCL variables besides its own."""
    if not variables:
        return platform
    treatment = platform.treatment
    own = treatment.variables if isinstance(treatment, NcclVariables) else {}
    tuned = NcclVariables(label=treatment.label, variables={**own, **dict(variables)})
    return platform.model_copy(update={"treatment": tuned})


def _too_short(candidates: int, within_s: float, needed_s: float) -> PlanError:
    return PlanError(
        f"the time does not suffice for a look at {candidates} candidates",
        where="--within",
        found=time_text(within_s),
        expected=f"{time_text(needed_s)} or more",
        next_step="give more time, or try less: --price none, no --variables",
    )
