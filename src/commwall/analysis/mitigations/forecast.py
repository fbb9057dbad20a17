"""What a mitigation should give, from legs that were measured without it.

Layer: analysis. Reads no file. With f, n and c the step times of legs `full`, `nosync` and `comm`
of a training case, f - n is the communication that compute does not hide:

- an exchange of w times the wire bytes gets (1 - w) c shorter, of which at most f - n can be won:
  f - min(f - n, (1 - w) c);
- k batches between two exchanges take (k - 1) n + f, a batch the k-th part of it;
- k local steps and an average of the weights, which nothing hides, take k n + c.

What it takes to write gradients in few bits is left out, so that a forecast is a bound where that
is slow.
"""

from collections.abc import Mapping

from commwall.schema.case import Leg
from commwall.schema.mitigation import Exchange, Mitigation

FORMULA = (
    "step time of full − min(full − nosync, (1 − w) × comm), where w is the share of wire bytes "
    "that is left; with k batches between two exchanges ((k − 1) × nosync + full) / k; with k "
    "local steps nosync + comm / k"
)
LEGS: tuple[Leg, ...] = ("full", "nosync", "comm")
NOT_FORECAST = "these options change no bytes on the wire: legs without them do not tell"


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
