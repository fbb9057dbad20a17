"""Golden records: two platforms and an A/A control with arithmetic one can do in the head."""
