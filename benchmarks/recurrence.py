"""Recurrent layers against torch.nn's, and the peephole LSTM, which torch.nn has not, against a plain loop.

Asked: LSTM at most 1.05 times nn.LSTM's time; peephole LSTM at most 1.25 times nn.LSTM's at (32, 128, 256) and at least
2.5 times as fast as a plain loop at (8, 128, 64). Shapes are (batch, steps, width); forward and backward unless said.
"""

from collections.abc import Callable

import torch
from timing import compare, show
from torch import Tensor, nn

from cutaway.blocks import GRU, LSTM, RNN
from cutaway.blocks.recurrence.equations import lstm_step

SHAPES = [(8, 128, 64), (32, 128, 256), (64, 32, 128)]


def plain_loop(layer: LSTM, x: Tensor) -> Tensor:
    """The equation step by step, differentiated by autograd: what one would write without a kernel."""
    cell = layer.layers[0]["forwards"]
    z = c = x.new_zeros(x.shape[0], layer.width)
    outputs = []
    for t in range(x.shape[1]):
        values = lstm_step(cell.map_input(x[:, t]) + cell.map_hidden(z), c, cell.peepholes)
        z, c = values["hidden"], values["cell"]
        outputs.append(z)
    return torch.stack(outputs, 1)


def training(run: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    return lambda: run(x).sum().backward()


def inference(run: Callable[[Tensor], Tensor], x: Tensor) -> Callable[[], None]:
    def work() -> None:
        with torch.no_grad():
            run(x)

    return work


def main() -> None:
    torch.manual_seed(0)
    for shape in SHAPES:
        batch, steps, width = shape
        x = torch.randn(batch, steps, width, requires_grad=True)
        peephole = LSTM(width, width, peephole=True)
        layers = {
            "nn.LSTM": nn.LSTM(width, width, batch_first=True),
            "LSTM": LSTM(width, width),
            "LSTM, peephole": peephole,
            "LSTM, coupled": LSTM(width, width, coupled=True),
            "nn.GRU": nn.GRU(width, width, batch_first=True),
            "GRU": GRU(width, width),
            "nn.RNN": nn.RNN(width, width, batch_first=True),
            "RNN": RNN(width, width),
        }
        runs: dict[str, Callable[[Tensor], Tensor]] = {
            name: lambda x, layer=layer: layer(x)[0] for name, layer in layers.items()
        }
        runs["plain peephole loop"] = lambda x, peephole=peephole: plain_loop(peephole, x)
        for kind in (training, inference):
            times = compare({name: kind(run, x) for name, run in runs.items()}, repeats=9)
            rows = [(name, f"{seconds * 1e3:.2f} ms") for name, seconds in times.items()]
            ratio = lambda a, b, times=times: f"{times[a] / times[b]:.2f}"
            rows += [
                ("LSTM / nn.LSTM (asked ≤ 1.05)", ratio("LSTM", "nn.LSTM")),
                ("peephole / nn.LSTM (asked ≤ 1.25 at 32, 128, 256)", ratio("LSTM, peephole", "nn.LSTM")),
                ("plain loop / peephole (asked ≥ 2.5 at 8, 128, 64)", ratio("plain peephole loop", "LSTM, peephole")),
                ("GRU / nn.GRU", ratio("GRU", "nn.GRU")),
                ("RNN / nn.RNN", ratio("RNN", "nn.RNN")),
            ]
            show(f"Recurrent layers, (batch, steps, width) = {shape}, {kind.__name__}", rows)


if __name__ == "__main__":
    main()
