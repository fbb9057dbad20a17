"""The model against worlds whose truth is known, walked through in small steps of time.

Of each workload compute, buckets and traits are drawn anew. On the target its true traits are
others, and the sweeps are off, as no model foresees; each round has noise of its own.
"""

import numpy as np
import pytest

from commwall.analysis.steps.fits import fit_steps
from commwall.analysis.steps.inputs import MeasuredStep, StepInputs
from commwall.analysis.steps.links import PlatformLink
from commwall.analysis.steps.predictions import (
    Measured,
    Place,
    StepPrediction,
    predict_step,
    with_intervals,
)
from commwall.model.bucketed import BucketedStep
from commwall.model.step import Timeline
from commwall.model.sweep import Contention, Sweep
from tests.stepped import walk

WORLDS, CASES, ROUNDS, BUCKETS = 8, 6, 3, 5
MEGABYTES = 1e6
RATE = {"fast": 2.5e11, "slow": 2.5e10}
LATENCY_S = {"fast": 2e-5, "slow": 5e-5}
LOST = {"fast": 0.4, "slow": 0.1}
STRETCH = {"fast": 1.1, "slow": 1.3}
SIZES = tuple(4**power for power in range(8, 15))
"""64 KiB to 256 MiB."""


class World:
    """Cases of one campaign: what is true of them, and what is measured.

    `unlike` says how far workloads are from the load of the sweep, `surprise` how far their
    traits differ between the links.
    """

    def __init__(self, seed: int, unlike: float, surprise: float) -> None:
        draw = np.random.default_rng(seed)
        shape = (CASES, BUCKETS)
        self.noise = draw
        self.end_s = draw.uniform(8e-3, 25e-3, CASES)
        self.ready_s = self.end_s[:, None] * np.sort(draw.uniform(0.35, 1.0, shape), axis=1)
        self.ready_s[:, -1] = self.end_s
        self.optimiser_s = draw.uniform(0.5e-3, 2e-3, CASES)
        self.sizes = draw.integers(4, 120, shape) * int(MEGABYTES)
        sensitivity = 1 + unlike * draw.uniform(-0.6, 0.6, CASES)
        drag = unlike * draw.uniform(-0.1, 0.4, CASES)
        off = surprise * draw.standard_normal((2, CASES))
        self.sensitivity = {"fast": sensitivity, "slow": sensitivity * np.exp(off[0])}
        self.drag = {"fast": drag, "slow": drag + off[1] / 3}

    def full_s(self, link: str) -> np.ndarray:
        """True step over a link [s], shape (cases,)."""
        own, drag = self.sensitivity[link][:, None], self.drag[link][:, None]
        lost = np.minimum(1, own * LOST[link]) + np.zeros(self.sizes.shape)
        stretch = np.maximum(1, (1 + own * (STRETCH[link] - 1)) * (1 + drag))
        stretch = stretch + np.zeros(self.sizes.shape)
        alone_s = LATENCY_S[link] + self.sizes / RATE[link]
        return walk(self.ready_s, self.end_s, self.optimiser_s, alone_s, lost, stretch)

    def rounds(self, link: str, spread: float) -> list[tuple[MeasuredStep, ...]]:
        """What rounds measure on a link, for each case."""
        true_s = self.full_s(link)
        return [
            tuple(self._round(case, true_s[case], spread) for _ in range(ROUNDS))
            for case in range(CASES)
        ]

    def _round(self, case: int, full_s: float, spread: float) -> MeasuredStep:
        speed, own = np.exp(spread * self.noise.standard_normal(2))
        end_s = float(speed * self.end_s[case])
        timeline = Timeline(
            tuple(map(float, speed * self.ready_s[case])),
            end_s,
            end_s + float(self.optimiser_s[case]),
        )
        sizes = tuple(map(int, self.sizes[case]))
        return MeasuredStep(BucketedStep(timeline, sizes, 2), float(own * full_s), None)

    def link(self, name: str, spread: float) -> PlatformLink:
        """Sweeps of a link, each round a little off as a whole."""
        sweeps = []
        for off in np.exp(spread * self.noise.standard_normal(ROUNDS)):
            times = (off * (LATENCY_S[name] + size / RATE[name]) for size in SIZES)
            sweeps.append(Sweep(SIZES, tuple(times)))
        beside = Contention((SIZES[0],), (LOST[name],), (STRETCH[name],))
        return PlatformLink("sweep", tuple(sweeps), (beside,))


def predicted(world: World, source: str, target: str, spread: float) -> list[StepPrediction]:
    here = {(source, str(i)): own for i, own in enumerate(world.rounds(source, spread))}
    there = [tuple(own.full_s for own in rounds) for rounds in world.rounds(target, spread)]
    inputs = StepInputs(here, {source: world.link(source, spread)}, {})
    fits, link = fit_steps(inputs, source), world.link(target, spread)
    asked = (
        predict_step(Place(case, source, target, control=False), own, link, Measured(full_s))
        for (case, own), full_s in zip(fits.items(), there, strict=True)
    )
    found = [own for own in asked if isinstance(own, StepPrediction)]
    assert len(found) == CASES
    return list(with_intervals(found, 0.95))


@pytest.mark.parametrize(("source", "target"), [("fast", "slow"), ("slow", "fast")])
def test_workloads_like_the_load_are_predicted_right(source: str, target: str) -> None:
    for own in predicted(World(1, unlike=0.0, surprise=0.0), source, target, spread=0.0):
        # the walk counts in ticks of 10 us, several a step; the steps take 10 to 60 ms
        assert own.error_log == pytest.approx(0, abs=0.01)


@pytest.mark.parametrize(("source", "target"), [("fast", "slow"), ("slow", "fast")])
def test_intervals_cover_what_they_promise(source: str, target: str) -> None:
    found = [
        own
        for seed in range(WORLDS)
        for own in predicted(World(seed, unlike=1.0, surprise=0.3), source, target, spread=0.004)
    ]
    inside = [own.inside for own in found]
    covered = sum(map(bool, inside)) / len(inside)
    assert None not in inside
    assert 0.88 <= covered <= 0.995
