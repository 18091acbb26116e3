"""Recurrence: RNN, LSTM, GRU and their variants."""

import torch

from cutaway.blocks.recurrence.equations import gru_step, lstm_step, rnn_step
from cutaway.blocks.recurrence.gru import GRU
from cutaway.blocks.recurrence.lstm import LSTM
from cutaway.blocks.recurrence.rnn import RNN
from cutaway.blocks.recurrence.states import GRUState, LSTMState, RNNState
from cutaway.registry import register

register(rnn_step, example=lambda: (rnn_step, torch.randn(2, 5)))
register(lstm_step, example=lambda: (lstm_step, torch.randn(2, 20), torch.randn(2, 5), torch.randn(3, 5)))
register(gru_step, example=lambda: (gru_step, torch.randn(2, 15), torch.randn(2, 15), torch.randn(2, 5)))


def _lengths() -> torch.Tensor:
    return torch.tensor([7, 2, 5])


register(
    RNN,
    example=lambda: (RNN(3, 5, 2, True), torch.randn(3, 7, 3), RNNState(torch.randn(3, 2, 2, 5)), _lengths()),
)
register(
    LSTM,
    example=lambda: (
        LSTM(3, 5, 2, True, peephole=True),
        torch.randn(3, 7, 3),
        LSTMState(torch.randn(3, 2, 2, 5), torch.randn(3, 2, 2, 5)),
        _lengths(),
    ),
)
register(GRU, example=lambda: (GRU(3, 5, 2, True), torch.randn(3, 7, 3), GRUState(torch.randn(3, 2, 2, 5)), _lengths()))
