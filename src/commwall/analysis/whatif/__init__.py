"""What a step would take on GPUs and links that nobody measured it on: question, inputs, answer.

Layer: analysis.
"""
