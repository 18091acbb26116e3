"""Attention in a GPT: a small one is trained on text that every Python has, and shown at work on a line of it.

Writes one page: every head as a small map, what each does in four numbers, one head large, all layers rolled out into
one map, and the prediction after every layer (the logit lens).
"""

import argparse

import torch

import cutaway as cut

if __name__ == "__main__":
    settings = argparse.ArgumentParser(description=__doc__)
    settings.add_argument("--steps", type=int, default=120, help="of training; 1000 for a model that spells")
    settings.add_argument("--text", default="The list of the items of the list")
    given = settings.parse_args()

    sizes = dict(width=64, depth=3, heads=4, context=64, batch=16)
    run = cut.train("gpt", data="python-docs", steps=given.steps, sample_tokens=0, show="quiet", **sizes)
    model = run.model
    print(f"{run.path}: loss {run.metrics[-1]['loss']:.3f} after {given.steps} steps")

    tokens = torch.from_numpy(run.tokenizer.encode(given.text)).long()[None]
    letters = list(given.text)
    with torch.no_grad(), cut.trace(model, "blocks.*.attention.weights") as seen:
        logits = model(tokens)
    for address, weights in seen.items():
        assert torch.allclose(weights.sum(-1), torch.ones(()))  # a query's weights add up to one
        print(address, tuple(weights.shape))

    # The head that most keeps to the letter before, by its score, and the same map for the whole model.
    scores = [cut.look.head_scores(weights[0], letters) for weights in seen.values()]
    previous = torch.stack([torch.from_numpy(score["previous"].values) for score in scores])
    layer, head = divmod(int(previous.argmax()), previous.shape[1])
    print(f"layer {layer}, head {head} gives {previous.max():.2f} of its weight to the letter before")
    one = seen[f"blocks.{layer}.attention.weights"][0, head]
    rollout = cut.look.attention_rollout(seen)[-1]
    print(f"rolled out, the last letter is made of {rollout[-1, -1]:.2f} itself and {1 - rollout[-1, -1]:.2f} others")

    # What it would write next if it stopped after each layer; the last row is what it does write.
    lens = cut.look.logit_lens(model, tokens)
    assert torch.allclose(lens.logits(), logits[0], atol=1e-5)
    print("after the last letter, by layer:", [line[-1][0] for line in lens.words])

    look = cut.look
    page = look.Page(
        "Attention in a GPT",
        f"{given.text!r}, read by a model of {sum(p.numel() for p in model.parameters()):,} parameters.",
        [
            look.Section("Every head", [look.attention_grid(seen, letters), look.head_summary(seen, letters)]),
            look.Section("One head", [look.attention_map(one, letters, title=f"Layer {layer}, head {head}")]),
            look.Section("All layers", [look.rollout_map(seen, letters)]),
            look.Section("Predictions by layer", [look.lens_map(lens), look.lens_map(lens, "rank", title="Rank")]),
        ],
    )
    print("pictures:", page.save("attention.html"))
