"""What a mitigation should give, from legs that were measured without it.

Layer: analysis. Reads no file. With f, n and c the step times of legs `full`, `nosync` and `comm`
of a training case, f - n is the communication that compute does not hide:

- an exchange of w times the wire bytes gets (1 - w) c shorter, of which at most f - n can be won:
  f - min(f - n, (1 - w) c);
- k batches between two exchanges take (k - 1) n + f, a batch the k-th part of it;
- k local steps and an average of the weights, which nothing hides, take k n + c.

Where leg `packed` was measured, the model of a step (`commwall.model.step`) tells an exchange in w
times the bytes better, because it knows when each bucket is ready: f + step(w) - step(1).

What it takes to write gradients in few bits is left out, so that a forecast is a bound where that
is slow.
"""

from collections.abc import Mapping

from commwall.analysis.steps.inputs import MeasuredStep
from commwall.language.translate import tr_later
from commwall.model.step import Exchange as BucketExchange, run_step
from commwall.schema.case import Leg
from commwall.schema.mitigation import Exchange, Mitigation

BY_MODEL, BY_LEGS = tr_later("model of a step"), tr_later("legs")
FORMULAS = {
    BY_MODEL: tr_later(
        "step time of full + step(w) − step(1), where step is the model of a step with the "
        "buckets of leg packed and their times of leg comm, and w the share of wire bytes that is "
        "left"
    ),
    BY_LEGS: tr_later(
        "step time of full − min(full − nosync, (1 − w) × comm); with k batches between two "
        "exchanges ((k − 1) × nosync + full) / k; with k local steps nosync + comm / k"
    ),
}
LEGS: tuple[Leg, ...] = ("full", "nosync", "comm")
NOT_FORECAST = tr_later("these options change no bytes on the wire: legs without them do not tell")


def wire_share(exchange: Exchange, ranks: int) -> float | None:
    """Wire bytes of an exchange relative to the float32 all-reduce's [1]; None if not known.

    Quantised gradients travel as an all-gather, (n - 1) pieces a rank; scales are left out.

    Source: `commwall.workers.quantised`; NVIDIA nccl-tests, doc/PERFORMANCE.md, for an
        all-reduce's 2 (n - 1) / n.
    """
    shares: dict[Exchange, float] = {
        "float32": 1.0,
        "bfloat16": 0.5,
        "float16": 0.5,
        "int8": ranks / 8,
        "onebit": ranks / 64,
    }
    return shares.get(exchange)


def forecast_s(mitigation: Mitigation, steps: Mapping[Leg, float], ranks: int) -> float | None:
    """Time of a batch with the mitigation [s]; None where these legs do not tell.

    Args:
        mitigation: what is tried.
        steps: step time of each leg of LEGS without it [s].
        ranks: processes that exchange.
    """
    known = {"exchange", "accumulate", "local_steps", "outer"}
    share = wire_share(mitigation.exchange, ranks)
    if not mitigation.chosen.keys() <= known or share is None:
        return None
    full, nosync, comm = (steps[leg] for leg in LEGS)
    if mitigation.local_steps > 1:
        return nosync + comm / mitigation.local_steps
    exchanged = full - max(0.0, min(full - nosync, (1 - share) * comm))
    return ((mitigation.accumulate - 1) * nosync + exchanged) / mitigation.accumulate


def modelled_s(mitigation: Mitigation, step: MeasuredStep, ranks: int) -> float | None:
    """Time of a step with another exchange by the model [s]; None for other mitigations.

    Args:
        mitigation: what is tried.
        step: the training case of the round, with its buckets and leg `comm`.
        ranks: processes that exchange.
    """
    share = wire_share(mitigation.exchange, ranks)
    if mitigation.chosen.keys() != {"exchange"} or share is None or step.comm_s is None:
        return None
    return step.full_s + _step_s(step, share * step.comm_s) - _step_s(step, step.comm_s)


def _step_s(step: MeasuredStep, comm_s: float) -> float:
    """The model's step if all exchanges together take so long [s]."""
    sizes = step.bucketed.bucket_bytes
    exchanges = [BucketExchange(comm_s * size / sum(sizes)) for size in sizes]
    return run_step(step.bucketed.timeline, exchanges).step_s
