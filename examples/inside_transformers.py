"""Inside somebody else's model: a GPT-2 of `transformers`, which learns here who is "he" and who is "she".

Nothing is downloaded: the model is built from a config and trained for some seconds on sentences made up here. Every
look below works on checkpoints in the same way: model = transformers.AutoModelForCausalLM.from_pretrained(...).
"""

import random

import torch
import transformers
from torch.nn.functional import cross_entropy

import cutaway as cut
from cutaway import look

PAIRS = [("king", "queen"), ("boy", "girl"), ("father", "mother"), ("uncle", "aunt"), ("actor", "actress")]
CHOICES = [("old", "young", "tall"), ("sleeps", "sings", "runs"), ("today", "again")]
OTHERS = ["the", "because", "he", "she", "likes", "it"]
WORDS = [word for words in (*PAIRS, *CHOICES, OTHERS) for word in words]


def encode(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


def decode(tokens: list[int]) -> str:
    return " ".join(WORDS[token] for token in tokens)


def sentence() -> list[int]:
    which, who = random.randrange(2), random.choice(PAIRS)
    how, does, when = map(random.choice, CHOICES)
    return encode(f"the {how} {who[which]} {does} {when} because {OTHERS[2 + which]} likes it")


def build_and_train(steps: int = 120) -> torch.nn.Module:
    random.seed(0), torch.manual_seed(0)
    sizes = dict(vocab_size=len(WORDS), n_positions=16, n_embd=32, n_layer=3, n_head=4, initializer_range=0.2)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, bos_token_id=0, eos_token_id=0))
    optimizer = torch.optim.AdamW(model.eval().parameters(), lr=5e-3)  # so small a model needs no dropout
    for _ in range(steps):
        tokens = torch.tensor([sentence() for _ in range(32)])
        loss = cross_entropy(model(tokens).logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"trained: loss {loss.item():.3f}")
    return model


if __name__ == "__main__":
    model = build_and_train()
    clean, other = encode("the old king sleeps today because"), encode("the old queen sleeps today because")
    he, she = encode("he she")

    with torch.no_grad(), cut.trace(model, "transformer.h.*.mlp", "transformer.h.1") as seen:  # read
        p = model(torch.tensor([clean])).logits[0, -1].softmax(-1)
    print(seen)
    with torch.no_grad(), cut.patch(model, {"transformer.h.*.attn.c_proj": 0.0}):  # edit: nobody attends
        q = model(torch.tensor([clean])).logits[0, -1].softmax(-1)
    print(f"p(he) = {p[he]:.3f}, p(she) = {p[she]:.3f}; without attention {q[he]:.3f}, {q[she]:.3f}")

    # Take apart: predictions by layer, who wrote the logit, where the king is kept, which words mattered.
    lens = look.logit_lens(model, clean, decode=decode)
    parts = look.logit_contributions(model, clean, he, she, decode=decode)
    where = look.recovery_by_position(model, clean, other, he, she, decode=decode)
    heads = look.recovery_by_head(model, clean, other, he, she, decode=decode)
    words = look.integrated_gradients(model, clean, he, she)
    print(f"after 'because' the layers say: {', '.join(line[-1][0] for line in lens.words)}")
    print(f"logit(he) − logit(she) = {parts.total:.2f}, of which attention wrote {parts.heads.sum():.2f}")
    pictures = [look.lens_map(lens), look.contribution_map(parts), look.patching_map(where)]
    pictures += [look.patching_map(heads, title="Activation patching of heads"), look.saliency_map(words, lens.tokens)]

    graph = cut.graph(model.transformer.h[0], torch.randn(1, 6, 32))
    print(f"one of its blocks is {len(graph.nodes)} operators")
    page = look.Page("Inside a transformers model", "A GPT-2 that knows he from she.", [look.Section("", pictures)])
    print("pictures:", page.save("inside_transformers.html"))
