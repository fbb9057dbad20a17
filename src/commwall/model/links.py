"""Links as models see them: a latency and a rate, inside a node and between nodes.

Layer: model. Reads and writes no file. Every value may be a number or an array of them: whole
sweeps are computed at once.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = float | NDArray[Any]
"""A number, or an array of them; arrays that meet in a formula broadcast."""


@dataclass(frozen=True)
class Link:
    """What joins a GPU to others."""

    latency_s: Values
    """Of one step of an algorithm: a message without bytes from one rank to the next [s]."""
    bytes_per_s: Values
    """What a ring reaches in one direction [byte/s]."""
    switch_share: Values = 0.0
    """Where the switch adds up (NVLS): rate on the wire that such an all-reduce reaches, as a share
    of a ring's [1]; 0 where no switch does."""


@dataclass(frozen=True)
class Fabric:
    """Links of a cluster of equal nodes; every GPU has its own port to the network."""

    inside: Link
    """Between GPUs of one node."""
    between: Link
    """From a GPU to one of another node."""
    gpus_per_node: Values
    """GPUs that `inside` joins."""


@dataclass(frozen=True)
class Group:
    """Ranks that exchange with each other, as they lie on the nodes."""

    inside: Values
    """Ranks on each node but the last."""
    nodes: Values
    """Nodes."""
    last: Values
    """Ranks on the last node, at most as many: all that leaves it shares their ports."""

    @property
    def ranks(self) -> Values:
        """All of them."""
        return self.inside * (self.nodes - 1) + self.last


def placed(ranks: Values, stride: Values, fabric: Fabric) -> Group:
    """A group whose neighbours lie `stride` GPUs apart, packed onto as few nodes as it can be.

    Args:
        ranks: members of the group.
        stride: GPUs from one member to the next; 1 for the innermost strategy.
        fabric: has the size of a node.
    """
    room = np.maximum(1, fabric.gpus_per_node // stride)
    inside = np.minimum(ranks, room)
    nodes = -(-ranks // inside)
    return Group(inside, nodes, ranks - inside * (nodes - 1))
