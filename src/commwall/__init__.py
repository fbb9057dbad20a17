"""commwall measures what the link between the GPUs costs in training, and proves it."""
