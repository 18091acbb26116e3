"""Time to validation loss 1.88 on tinyshakespeare: the `small` preset against a plain AdamW GPT-2 of the same size.

The baseline has the settings of nanoGPT's CPU quick start (Karpathy 2022): 4 layers, 4 heads, width 128, context 64,
batch 12, 2,000 steps of AdamW. Both are scored by one function over the whole validation split, the last tenth. The
clock runs from the first to the last optimizer step, without evaluation; medians of three seeds, taking turns.
"""

import statistics

from timing import show
from trials import Trial, shakespeare, train

from cutaway.recipes.texts.gpt import GPTRecipe

GOAL, SEEDS = 1.88, 3
BASELINE = dict(
    design="gpt2", optimizer="adamw", rate=1e-3, batch=12, steps=2000, schedule="cosine", warmup=100, floor=0.1,
    beta=0.99, weight_decay=0.1, clip=1.0,
)  # fmt: skip


def main() -> None:
    data = shakespeare()
    settings = {"small preset": {}, "plain AdamW GPT-2": BASELINE}
    trials: dict[str, list[Trial]] = {name: [] for name in settings}
    for seed in range(SEEDS):
        for name, own in settings.items():
            trials[name].append(train(GPTRecipe.make("small", data=data, seed=seed, **own)))
            print(f"seed {seed}, {name}: {trials[name][-1]}", flush=True)
    seconds = {name: statistics.median(t.seconds for t in found) for name, found in trials.items()}
    loss = {name: statistics.median(t.loss for t in found) for name, found in trials.items()}
    ours, theirs = settings
    show(
        f"Race to validation loss {GOAL} on tinyshakespeare, medians of {SEEDS} seeds",
        [
            *((name, f"{loss[name]:.3f} in {seconds[name]:.1f} s") for name in settings),
            (f"{ours} / {theirs}, time", f"{seconds[ours] / seconds[theirs]:.3f}"),
            (f"seeds of the preset at {GOAL} or below", f"{sum(t.loss <= GOAL for t in trials[ours])} of {SEEDS}"),
        ],
    )


if __name__ == "__main__":
    main()
