"""The file of a small experiment."""

EXPERIMENT = """
name: small
seeds: [3, 1]
data: {corpus: {type: python-docs}, tokenizer: {type: byte}, seq_len: 32}
model: {num_layers: 2, dim: 16, num_heads: 2}
training: {steps: 10, batch_size: 4, learning_rate: 1e-3}
variants:
  tied: {}
  untied: {model: {tying: {type: untied}}}
"""
