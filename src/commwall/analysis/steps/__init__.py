"""The model of a step on records: what they tell it, and steps predicted on other links.

Layer: analysis.
"""
