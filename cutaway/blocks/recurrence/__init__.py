"""Recurrence: RNN, LSTM and GRU, their equations, stacked, in both directions, step by step."""
