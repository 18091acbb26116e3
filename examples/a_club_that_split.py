"""A club that split: a graph attention network tells from who met whom which side each member took (Zachary 1977).

Shows the answers for members it was not told about, whom one of them listens to, and what changes when an edge is cut.
"""

import torch

import cutaway as cut

if __name__ == "__main__":
    run = cut.train(
        "gat", data="karate-club", heads=2, width=16, steps=80, validation=0.3, test=0.3, patience=0, show="quiet"
    )
    data = run.task.parts
    print(data.summary().splitlines()[0])
    print(f"{run.path}: {run.test()['accuracy']:.0%} of the members it knew nothing about are on the right side")

    # Whom does member 8, who knew both leaders (0 and 33), listen to?
    graph = run.task.graph
    with torch.no_grad(), cut.trace(run.model, "stages.0.layer.attention") as seen:
        before = run.model(graph)[8].softmax(-1)
    arcs = run.model.stages[0].layer.wired(graph).arcs  # with a self-loop at every vertex
    weights = seen["stages.0.layer.attention"].mean(1)  # over heads
    heard = {int(arcs[0, a]): float(weights[a]) for a in (arcs[1] == 8).nonzero()[:, 0]}
    assert abs(sum(heard.values()) - 1) < 1e-4  # what a vertex hears adds up to one
    for member, weight in sorted(heard.items(), key=lambda item: -item[1]):
        print(f"member 8 listens to {member}: {weight:.2f}")

    # Without the edge to the other leader:
    for leader in (0, 33):
        with torch.no_grad():
            after = run.model(graph.without_edges([(8, leader)]))[8].softmax(-1)
        side = int(before.argmax())
        print(
            f"P({data.classes[side]}) of member 8: {before[side]:.2f}, without the edge to {leader}: {after[side]:.2f}"
        )
