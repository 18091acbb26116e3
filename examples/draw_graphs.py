"""A model of graphs: how likely is a graph, which edge did it expect, and what does it draw itself?

It learns from pairs of communities (a sample) for some seconds, vertex by vertex in breadth-first order. Then it tells
a pair of communities from a random graph with as many edges, and draws graphs of its own.
"""

import tempfile
from pathlib import Path

import networkx as nx
import torch

import cutaway as cut

torch.manual_seed(0)
folder = Path(tempfile.mkdtemp())
run = cut.train("graph-rnn", steps=80, batch=16, width=32, evaluate_every=40, out=folder / "run", show="quiet")

# 1. Nats a graph on held-out graphs, beside two rules without a network.
last = [row for row in run.metrics if row["split"] == "validation"][-1]
print(f"nats a graph: the network {last['loss']:.0f}", end="")
for name, rule in run.about["data"]["baselines"].items():
    print(f", {name} {rule['metrics']['loss']:.0f}", end="")
print()

# 2. Is a graph of the kind that it knows? Two cliques with an edge between them, and a random graph as dense.
pair = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
pair.add_edge(0, 6)
chance = nx.gnm_random_graph(12, pair.number_of_edges(), seed=1)
for name, found in zip(("two communities", "a random graph"), run.predict([pair, chance])):
    print(f"{name}: log p = {found['log p']:.0f}, {found['nats an edge']:.2f} nats an edge")

# 3. Under the covers: P(edge) of the last vertex to those before it, nearest first, and the edges that it has.
subject = run.subject()
with cut.trace(run.model, "edges", "states") as seen, torch.no_grad():
    run.model(*subject.arguments)
rows, sizes = subject.arguments
last_row = int(sizes[0]) - 1
print("P(edge):", " ".join(f"{p:.2f}" for p in seen["edges"][0, last_row].sigmoid()[:8].tolist()))
print("edge:   ", " ".join(f"{int(e):>4}" for e in rows[0, last_row, :8].tolist()))

# 4. New graphs, and how clustered they are: random graphs as dense have about 0.3.
drawn = [cut.data.to_networkx(graph) for graph in run.sample(20, seed=1)]
sizes_of = sorted(len(graph) for graph in drawn)
print(f"20 drawn graphs of {sizes_of[0]} to {sizes_of[-1]} vertices, mean clustering", end=" ")
print(f"{sum(nx.average_clustering(graph) for graph in drawn) / len(drawn):.2f}")
