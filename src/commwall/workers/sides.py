"""The two steps of a case of suite `mitigations`, and the plain one that consecutive cases share.

Layer: workers. Reads and writes no file. Building a step takes longer than timing it. The plain
step is therefore kept for the next case of the launch if that is held against the same one, and
begins anew there: weights, optimiser and batch are what they were when it was built. What is
recorded of it is not kept: the end of the process group would wait for a recorded exchange that
still exists.
"""

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch

from commwall.schema.case import CAPTURING
from commwall.schema.mitigation import Mitigation, StepCase
from commwall.schema.result import Check
from commwall.schema.workload import Workload as WorkloadCase
from commwall.workers import legs, stepping
from commwall.workers.group import Group
from commwall.workers.mitigated import POWERSGD_START, mitigated_step

SAME_LOSS_WITHIN = 0.02
"""Relative. A step that rounds in another order stays far below it, one that computes something
else does not."""
_STATEFUL = frozenset({"int8", "onebit", "powersgd"})


class Side:
    """One of the two steps, after its first steps have been taken and checked."""

    def __init__(
        self,
        case: StepCase,
        mitigation: Mitigation,
        group: Group,
        word: str,
        build: type[legs.Workload] = legs.Workload,
    ) -> None:
        self.mode = mitigation.step_mode or case.step_mode
        self.mitigation, self._group, self._word = mitigation, group, word
        own = case.model_copy(
            update={
                "batch_per_gpu": case.batch_per_gpu * mitigation.batch_times,
                "step_mode": self.mode,
            }
        )
        self.workload = build(own, group.device, group.rank)
        self.step = mitigated_step(self.workload, mitigation, case.bucket_bytes)
        self.begin()

    def begin(self) -> None:
        """Take the first steps; what was recorded before is forgotten."""
        self.run: stepping.Step = self.step
        with stepping.first_run_of(self.mode):
            self.losses = [
                self._loss_of_step() for _ in range(max(legs.FIRST_STEPS, POWERSGD_START))
            ]
        self.checks = [self.sound(f"{self._word}_step_sound")]

    def record(self) -> None:
        """Have the step recorded if its mode says so."""
        self.run = stepping.in_mode(self.mode, self.step)
        if self.recorded and self.mitigation.exchange not in _STATEFUL:
            self.workload.restart()
            if self.mitigation.local_steps == 1:  # else the optimiser's state tells in the loss
                self.checks.append(legs.recorded_check(self.workload, self.run, self.step))

    @property
    def recorded(self) -> bool:
        """Whether a CUDA graph is replayed."""
        return self.mode in CAPTURING

    def sound(self, name: str) -> Check:
        """Losses are finite, and weights the same bits on all ranks; all ranks must ask."""
        weights = [p.detach() for p in self.workload.module.parameters()]
        prints = self._group.all(legs.fingerprint(weights))
        losses = [*self.losses, float(self.workload.loss)]
        return Check(
            name=name,
            passed=len(set(prints)) == 1 and all(map(math.isfinite, losses)),
            found=f"losses {losses}; sums of the weights' bits per rank: "
            + ", ".join(f"{each:.0f}" for each in prints),
            expected="finite losses, one sum after the exchange",
        )

    def _loss_of_step(self) -> float:
        self.step()
        return float(self.workload.loss)


class Renewable(legs.Workload):
    """A workload that can go back to where it was when it was built."""

    def __init__(self, case: WorkloadCase, device: torch.device, rank: int) -> None:
        super().__init__(case, device, rank)
        self._beginning = [tensor.cpu() for tensor in self.state()]

    def begin_anew(self) -> None:
        """Have weights and batch of the beginning, and an optimiser that has seen nothing."""
        self.go_back(self._beginning)
        self._optimizer.state.clear()
        self.forget_gradients()


class PlainSide(Side):
    """The step without a mitigation, which can be another case's after it was one's."""

    workload: Renewable

    def __init__(self, case: StepCase, group: Group) -> None:
        super().__init__(case, Mitigation.model_construct(), group, "plain", Renewable)
        self._first_losses = self.losses

    def begin_anew(self) -> None:
        """Take the first steps once more, which must give the losses of the first time."""
        self.workload.begin_anew()
        self.begin()
        self.checks.append(same_losses("plain_step_begun_anew", self.losses, self._first_losses))


class KeptPlain:
    """The plain step of a launch, for as long as its cases share it."""

    def __init__(self) -> None:
        self._side: PlainSide | None = None
        self._of: object = None

    def side(self, case: StepCase, group: Group) -> PlainSide:
        """The plain step of a case after its first steps; it is built if the kept one differs."""
        own = (group, case.identity)
        if self._side and self._of == own:
            self._side.begin_anew()
            return self._side
        self.drop()
        self._side, self._of = PlainSide(case, group), own
        return self._side

    def end_case(self) -> None:
        """Keep the plain step without its recording, and nothing of the other."""
        if self._side:
            self._side.run = self._side.step
        _free_memory()

    def drop(self) -> None:
        """Keep nothing."""
        self._side = self._of = None
        _free_memory()


def same_losses(name: str, own: list[float], plain: list[float]) -> Check:
    """Steps that compute the same must give the same losses.

    Args:
        name: of the check.
        own: losses of one [nat].
        plain: losses that are expected [nat].
    """
    worst = max(abs(b / a - 1) for a, b in zip(plain, own, strict=True))
    return Check(
        name=name,
        passed=worst <= SAME_LOSS_WITHIN,
        found=f"{own}, {worst:.2g} apart from {plain}",
        expected=f"within {SAME_LOSS_WITHIN:g}",
    )


@contextmanager
def one_stream(device: torch.device) -> Iterator[None]:
    """Work on the same stream in all cases of a launch: a DDP that is kept belongs to its own."""
    if device.type != "cuda":
        yield
        return
    current, own = torch.cuda.current_stream(), _stream(device)
    own.wait_stream(current)
    with torch.cuda.stream(own):
        yield
    current.wait_stream(own)


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


def _free_memory() -> None:
    """Have the next case find the memory as the first one did."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
