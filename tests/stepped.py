"""A training step walked through in small steps of time: a second opinion on the model.

It shares no code and no method with `commwall.model`: nothing is solved for, both streams move by
what they would in 10 microseconds, over and over, for many steps at once.
"""

import numpy as np

TICK_S = 1e-5


def walk(
    ready_s: np.ndarray,
    backward_end_s: np.ndarray,
    optimiser_s: np.ndarray,
    alone_s: np.ndarray,
    lost: np.ndarray,
    stretch: np.ndarray,
) -> np.ndarray:
    """Duration of each step [s], shape (steps,).

    Args:
        ready_s: where compute has each bucket ready [s], shape (steps, buckets).
        backward_end_s: compute of the backward pass and before [s], shape (steps,).
        optimiser_s: what follows [s], shape (steps,).
        alone_s: each bucket's exchange [s], shape (steps, buckets).
        lost: compute lost a second of exchange [1], shape (steps, buckets).
        stretch: exchange beside compute over alone [1], shape (steps, buckets).
    """
    steps, buckets = ready_s.shape
    rows = np.arange(steps)
    computed, time = np.zeros(steps), np.zeros(steps)
    bucket, sent = np.zeros(steps, dtype=int), np.zeros(steps)
    while True:
        computing, pending = computed < backward_end_s, bucket < buckets
        if not (computing | pending).any():
            return time + optimiser_s
        at = np.minimum(bucket, buckets - 1)
        sending = pending & (computed >= ready_s[rows, at] - TICK_S / 2)
        slowed = np.where(sending, 1 - lost[rows, at], 1.0)
        speed = np.where(computing, 1 / stretch[rows, at], 1.0)
        computed += np.where(computing, TICK_S * slowed, 0.0)
        sent += np.where(sending, TICK_S * speed, 0.0)
        over = sending & (sent >= alone_s[rows, at] - TICK_S / 2)
        bucket, sent = bucket + over, np.where(over, 0.0, sent)
        time += np.where(computing | pending, TICK_S, 0.0)
