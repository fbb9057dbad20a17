"""Pre-norm transformer layers, which ViT and GPT stack alike.

Layer: workers. Reads and writes no file. Dropout is off, for the reason given in
`commwall.workers.models.bert`.

Source: Vaswani et al., "Attention Is All You Need", arXiv:1706.03762, section 3; the norm before
each half of a layer as in Radford et al., "Language Models are Unsupervised Multitask Learners",
2019, section 2.3.
"""

import torch
from torch import nn

WIDENING = 4
"""Width of the feed-forward half, relative to the layer's."""
_STANDARD_DEVIATION = 0.02


def layer(hidden: int, heads: int) -> nn.TransformerEncoderLayer:
    """One layer; its call maps states [batch, length, hidden] to such states."""
    return nn.TransformerEncoderLayer(
        hidden,
        heads,
        WIDENING * hidden,
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=True,
    )


def initialise(model: nn.Module) -> None:
    """Draw all matrices of a model from one normal distribution.

    Source: Radford et al. 2019, released code of GPT-2 (0.02); Touvron et al., "DeiT",
    arXiv:2012.12877, does so for ViT.
    """
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=_STANDARD_DEVIATION)


def layer_parameters(hidden: int) -> int:
    """Trainable parameters of one layer: 12 h^2 of its matrices, 13 h of biases and norms."""
    return 12 * hidden**2 + 13 * hidden


def layer_flops(hidden: int, length: int) -> float:
    """FLOPs of the forward pass of one layer for a sequence: 24 s h^2 + 4 s^2 h.

    Half of the attention of a causal layer is masked; it is computed, or counted, all the same.

    Source: Narayanan et al., arXiv:2104.04473, appendix "Floating-point operations".

    Args:
        hidden: width h.
        length: tokens s of the sequence.
    """
    return 24.0 * length * hidden**2 + 4.0 * length**2 * hidden
