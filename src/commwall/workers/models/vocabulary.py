"""A large vocabulary whose rare words are narrow: adaptive input and adaptive softmax, tied.

Layer: workers. Reads and writes no file. Words are numbered from the commonest to the rarest and
fall into clusters. The scores of a cluster are computed only where its words are the target.
Where that is, the maker of a batch knows and says (`sort_targets`), so that the device is never
asked and all shapes are those of the batch.

Source: Grave et al., "Efficient softmax approximation for GPUs", arXiv:1609.04309, section 4
(clusters); Baevski and Auli, "Adaptive Input Representations", arXiv:1809.10853, section 3
(narrower vectors for rarer clusters, used for input and output).
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

_STANDARD_DEVIATION = 0.02


class TiedVocabulary(nn.Module):  # type: ignore[misc]
    """Word vectors that serve as input and, transposed, as output.

    With widths w_c = hidden // division^c, sizes s_c and k rare clusters it has
    sum(s_c w_c) + sum(s_c) + k (w_0 + 1) parameters, and sum(w_c) hidden more if the division is
    not 1: vectors, a bias a word, vector and bias of each rare cluster, projections.

    Args:
        hidden: width of the model.
        ends: word numbers at which the clusters end; the last is the vocabulary's size.
        division: how much narrower each cluster is than the one before.
    """

    def __init__(self, hidden: int, ends: Sequence[int], division: int) -> None:
        super().__init__()
        self._bounds = tuple(pairwise((0, *ends)))
        rows = [end - begin for begin, end in self._bounds]
        rows[0] += len(ends) - 1  # the first softmax chooses among rare clusters, too
        widths = [hidden // division**cluster for cluster in range(len(ends))]
        shapes = list(zip(rows, widths, strict=True))
        self.vectors = nn.ParameterList(torch.empty(shape) for shape in shapes)
        self.biases = nn.ParameterList(torch.zeros(size) for size in rows)
        narrowed = widths if division > 1 else ()
        self.projections = nn.ParameterList(torch.empty(hidden, width) for width in narrowed)
        for weight in (*self.vectors, *self.projections):
            nn.init.normal_(weight, std=_STANDARD_DEVIATION)

    def embed(self, words: torch.Tensor) -> torch.Tensor:
        """Vectors [batch, length, hidden] of words [batch, length]."""
        parts = []
        for cluster, (begin, end) in enumerate(self._bounds):
            own = (words >= begin) & (words < end)
            numbers = (words - begin).clamp(0, end - begin - 1)
            vectors = functional.embedding(numbers, self.vectors[cluster])
            if len(self.projections):
                vectors = functional.linear(vectors, self.projections[cluster])
            parts.append(vectors * own.unsqueeze(-1))
        return torch.stack(parts).sum(dim=0)

    def loss(
        self, hidden: torch.Tensor, first: torch.Tensor, rare: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """Mean cross-entropy of the target words.

        Args:
            hidden: last states [token, hidden].
            first: targets of the first softmax [token], as `sort_targets` gives them.
            rare: of each rare cluster, tokens and targets [2, tokens of the cluster].
        """
        total = functional.cross_entropy(self._scores(0, hidden), first, reduction="sum")
        for cluster, (tokens, targets) in enumerate(rare, start=1):
            scores = self._scores(cluster, hidden[tokens])
            total = total + functional.cross_entropy(scores, targets, reduction="sum")
        return total / len(first)

    def _scores(self, cluster: int, hidden: torch.Tensor) -> torch.Tensor:
        if len(self.projections):
            hidden = functional.linear(hidden, self.projections[cluster].t())
        return functional.linear(hidden, self.vectors[cluster], self.biases[cluster])


def sort_targets(words: torch.Tensor, ends: Sequence[int]) -> dict[str, torch.Tensor]:
    """Targets by cluster.

    Args:
        words: target words [token].
        ends: word numbers at which the clusters end.

    Returns:
        `first` [token]: a common word's own number, or the number that stands for its cluster;
        `rare_1`, `rare_2`, ... [2, tokens of the cluster]: tokens, and numbers in the cluster.
    """
    first, sorted_targets = words.clone(), {}
    for cluster, (begin, end) in enumerate(pairwise(ends)):
        (tokens,) = torch.nonzero((words >= begin) & (words < end), as_tuple=True)
        first[tokens] = ends[0] + cluster
        sorted_targets[f"rare_{cluster + 1}"] = torch.stack((tokens, words[tokens] - begin))
    return {"first": first, **sorted_targets}
