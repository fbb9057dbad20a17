"""Whether the faster link is worth its price: costs, pay-back, what drives and flips the answer."""
