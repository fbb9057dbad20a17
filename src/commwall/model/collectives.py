"""Time of collectives from latency and rate of the links, by algorithm.

Layer: model. Reads and writes no file. A buffer of m bytes on n ranks over a link of latency a and
rate b takes

| algorithm | time |
|---|---|
| ring all-reduce | 2 (n - 1) a + 2 (n - 1)/n m/b |
| double binary tree | 2 ceil(log2 n) a + 2 m/b |
| two steps, added up in the switch (NVLS) | 2 a + (n + 1)/n m/(share b) |

Every function takes arrays; n = 1 costs nothing.

Source: R. Thakur, R. Rabenseifner and W. Gropp, Optimization of collective communication operations
    in MPICH, 2005, section 4 (ring, pairwise exchange; there a + m b with b in s/byte).
    P. Sanders, J. Speck and J. L. Träff, Two-tree algorithms for full bandwidth broadcast,
    reduction and scan, 2009 (double tree).
    NVIDIA NCCL, documentation, Environment Variables, NCCL_ALGO (which algorithms there are).
"""

import numpy as np

from commwall.model.links import Fabric, Group, Link, Values


def ring_all_reduce_s(message_bytes: Values, ranks: Values, link: Link) -> Values:
    """All-reduce around a ring: a reduce-scatter, then an all-gather [s]."""
    steps = 2 * (ranks - 1)
    return steps * link.latency_s + steps / ranks * message_bytes / link.bytes_per_s


def tree_all_reduce_s(message_bytes: Values, ranks: Values, link: Link) -> Values:
    """All-reduce up and down two trees, each with half of the buffer [s]."""
    many = np.greater(ranks, 1)
    wire_s = 2 * message_bytes / link.bytes_per_s * many
    return 2 * np.ceil(np.log2(ranks)) * link.latency_s + wire_s


def switch_all_reduce_s(message_bytes: Values, ranks: Values, link: Link) -> Values:
    """All-reduce that the switch adds up (NVLS); infinite where it does not [s].

    Each GPU gives its whole buffer to the switch once, which hands it the sums of the share that it
    is responsible for; then it gives these sums once, for the switch to copy to all: (n + 1)/n
    buffers in one direction.

    Source: NVIDIA NCCL, documentation, NCCL_NVLS_ENABLE; B. Klenk et al., An in-network
        architecture for accelerating shared-memory multiprocessor collectives, ISCA 2020.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = link.bytes_per_s * np.asarray(link.switch_share)
        wire_s = (ranks + 1) / ranks * message_bytes / rate
        whole_s = 2 * link.latency_s + wire_s
    usable = np.greater(link.switch_share, 0)
    return np.where(np.greater(ranks, 1), np.where(usable, whole_s, np.inf), 0.0)


def all_reduce_s(message_bytes: Values, group: Group, fabric: Fabric) -> Values:
    """All-reduce of a group on one or several nodes, by the fastest of the algorithms [s].

    On several nodes: reduce-scatter inside, all-reduce of each GPU's share with its like on the
    other nodes, all-gather inside, one after the other. The first and the last together cost what
    an all-reduce inside does. Overlapping these stages, as NCCL tries to, can only be faster. The
    node with the fewest ranks has the fewest ports for the same buffer: the others wait for it.

    Source: M. Cho et al., BlueConnect: decomposing all-reduce for deep learning on heterogeneous
        network hierarchy, MLSys 2019.
    """
    inside = (message_bytes, group.inside, fabric.inside)
    inside_s = np.minimum(ring_all_reduce_s(*inside), switch_all_reduce_s(*inside))
    between = (message_bytes / group.last, group.nodes, fabric.between)
    between_s = np.minimum(ring_all_reduce_s(*between), tree_all_reduce_s(*between))
    return inside_s + between_s


def gather_s(message_bytes: Values, group: Group, fabric: Fabric) -> Values:
    """All-gather or reduce-scatter of a group on any number of nodes: half a ring's all-reduce [s].

    Sums in the switch do not shorten it: each rank must take, or give, (n - 1)/n of the buffer.
    """
    inside_s = ring_all_reduce_s(message_bytes, group.inside, fabric.inside)
    between_s = ring_all_reduce_s(message_bytes / group.last, group.nodes, fabric.between)
    return (inside_s + between_s) / 2


def all_to_all_s(message_bytes: Values, group: Group, fabric: Fabric) -> Values:
    """Every rank of a group sends each other one an equal part of its buffer [s].

    Parts for the own node and for other nodes are on the way at once: the slower way counts. A rank
    of the last node has the most ranks elsewhere.
    """
    ranks = group.ranks
    near = (group.inside - 1) / ranks * message_bytes / fabric.inside.bytes_per_s
    elsewhere = ranks - group.last
    far = elsewhere / ranks * message_bytes / fabric.between.bytes_per_s
    inside_s = (group.inside - 1) * fabric.inside.latency_s + near
    between_s = elsewhere * fabric.between.latency_s + far
    return np.maximum(inside_s, between_s)


def send_s(message_bytes: Values, link: Link) -> Values:
    """One message from a rank to the next [s]."""
    return link.latency_s + message_bytes / link.bytes_per_s
