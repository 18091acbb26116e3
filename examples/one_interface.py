"""A Markov chain, an LSTM and a GPT behind one interface: density, sampling, beams, and the exact best sequences."""

import torch

import cutaway as cut
from cutaway.models import GPT, MarkovChain, RecurrentLM, beam_search, exact_top, generate, log_probabilities

TEXT = "the cat sat on the mat. the dog sat on the log. " * 40
tokenizer = cut.data.Characters(TEXT)
tokens = torch.from_numpy(tokenizer.encode(TEXT))
vocabulary = tokenizer.vocabulary


def trained(model: torch.nn.Module, steps: int = 60) -> torch.nn.Module:
    """A few steps of AdamW on stretches of the text, teacher forced: the true tokens go in, whatever it would write."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(steps):
        torch.manual_seed(step)
        starts = torch.randint(len(tokens) - 25, (16, 1))
        loss = -log_probabilities(model, tokens[starts + torch.arange(25)]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


torch.manual_seed(0)
models = {
    "Markov chain": MarkovChain.from_tokens(tokens, vocabulary, order=4),  # counted, not trained
    "LSTM": trained(RecurrentLM(vocabulary=vocabulary, width=48)),
    "GPT": trained(GPT(vocabulary=vocabulary, width=48, depth=1, heads=4, context=64)),
}

prompt = [int(i) for i in tokenizer.encode("the cat ")]
answer = torch.from_numpy(tokenizer.encode("sat on"))[None]
for name, model in models.items():
    print(f"\n{name}, {sum(p.numel() for p in model.parameters()):,} learned numbers")
    # p(x | c) = p(c ‖ x) / p(c), by the product rule
    with torch.no_grad():
        log_p = log_probabilities(model, answer, source=torch.tensor([prompt])).sum().item()
    print(f"  log p('sat on' | 'the cat ') = {log_p:.3f}")
    (drawn,) = generate(model, prompt, 24, temperature=0.8, seed=0)
    print(f"  drawn:  {tokenizer.decode(drawn)!r}")
    (best,) = exact_top(model, prompt, 3)
    found = beam_search(model, prompt, 3, beams=4, alpha=0)[0][0]
    said = tokenizer.decode(best.tokens[len(prompt) :])
    print(f"  best three characters: {said!r}, log p = {best.log_probability:.3f}")
    print(f"  a beam of four finds them: {found.tokens == best.tokens}")
