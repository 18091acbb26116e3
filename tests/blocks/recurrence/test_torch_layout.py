"""Weights of torch.nn in and out; a real GRU that pronounces English words."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from cutaway.blocks import GRU, LSTM, RNN, Embedding, Linear


@pytest.mark.parametrize(
    ("family", "peer"),
    [
        (RNN, lambda **how: nn.RNN(3, 5, 2, batch_first=True, **how)),
        (RNN, lambda **how: nn.RNN(3, 5, 2, batch_first=True, nonlinearity="relu", **how)),
        (LSTM, lambda **how: nn.LSTM(3, 5, 2, batch_first=True, **how)),
        (GRU, lambda **how: nn.GRU(3, 5, 2, batch_first=True, **how)),
    ],
    ids=["rnn", "relu", "lstm", "gru"],
)
@pytest.mark.parametrize("bias", [True, False])
def test_from_torch_and_back(family, peer, bias, float64):
    theirs = peer(bias=bias, bidirectional=True)
    ours, x = family.from_torch(theirs), torch.randn(2, 7, 3)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0])
    back = peer(bias=True, bidirectional=True)
    back.load_state_dict(ours.torch_weights())
    torch.testing.assert_close(back(x)[0], theirs(x)[0])


def test_refusals():
    with pytest.raises(ValueError, match=r"GRU is made from torch.nn.GRU, got torch.nn.LSTM \(LSTM\)"):
        GRU.from_torch(nn.LSTM(3, 5))
    with pytest.raises(ValueError, match="projections have no place here, got proj_size=2"):
        LSTM.from_torch(nn.LSTM(3, 5, proj_size=2))
    with pytest.raises(ValueError, match="got none for weight_hh_l1, weight_ih_l1"):
        LSTM(3, 5, 2).load_torch_weights(nn.LSTM(3, 5).state_dict())
    with pytest.raises(ValueError, match="also bias_hh_l0_reverse"):
        LSTM(3, 5).load_torch_weights(nn.LSTM(3, 5, bidirectional=True).state_dict())
    with pytest.raises(ValueError, match=r"weight_ih_l0 must have shape \(20, 3\), got \(20, 4\)"):
        LSTM(3, 5).load_torch_weights(nn.LSTM(4, 5).state_dict())
    with pytest.raises(ValueError, match=r"torch.nn has no peepholes"):
        LSTM(3, 5, peephole=True).torch_weights()


class Pronouncer:
    """g2p-en's encoder and decoder: the thought vector of the letters begins the sounds (Park, Kim 2019)."""

    def __init__(self, folder):
        weights = load_file(folder / "model.safetensors")
        self.meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        self.letters, self.sounds = (self._table(weights[f"{side}_emb"]) for side in ("enc", "dec"))
        self.encoder, self.decoder = (self._gru(weights, side) for side in ("enc", "dec"))
        self.output = Linear(256, len(self.meta["phonemes"]))
        self.output.load_state_dict({"weight": weights["fc_w"].T, "bias": weights["fc_b"]})

    def _table(self, weight):
        table = Embedding(*weight.shape)
        table.load_state_dict({"weight": weight})
        return table

    def _gru(self, weights, side):
        gru = GRU(256, 256)
        gru.load_torch_weights(
            {
                f"{kind}_{ends}_l0": weights[f"{side}_{kind[0]}_{ends}"]
                for kind in ("weight", "bias")
                for ends in ("ih", "hh")
            }
        )
        return gru

    @torch.no_grad()
    def __call__(self, word):
        letters = torch.tensor([[self.meta["graphemes"].index(c) for c in [*word, "</s>"]]])
        _, state = self.encoder(self.letters(letters))
        sound, written = self.meta["sos"], []
        while len(written) < 20:
            z, state = self.decoder.step(self.sounds(torch.tensor([sound])), state)
            sound = int(self.output(z).argmax())
            if sound == self.meta["eos"]:
                break
            written.append(self.meta["phonemes"][sound])
        return " ".join(written)


def test_a_real_gru_pronounces_its_golden_words(data_folder):
    pronounce = Pronouncer(data_folder / "weights" / "g2p_en_gru")
    golden = pronounce.meta["golden"]
    assert len(golden) == 10
    assert {word: pronounce(word) for word in golden} == golden
