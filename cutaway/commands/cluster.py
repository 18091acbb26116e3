"""`cutaway cluster DATA`: groups of vertices that are joined well, or of points that lie near one another."""

import csv
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from cutaway.commands.flag_types import PLACE
from cutaway.commands.flags import parse_flags

if TYPE_CHECKING:
    from cutaway.data.graphs.spectra.spectral_clusters import Clusters

_PICTURES = (".html", ".png", ".svg")
_SHOWN = 5  # names of a cluster
_DRAWN = 20_000  # vertices for which a layout is computed


@dataclass(frozen=True)
class ClusterGraph:
    """Finds clusters in a graph by the eigenvectors of its Laplacian, and writes a table and pictures of them.

    DATA is a list of edges (CSV, TSV, Parquet), GraphML, Matrix Market, an .npz or a sample: see `cutaway list data`.
    Of a table of points (a row a point) a graph of near points is made first. Without --clusters there are as many as
    the widest step in the spectrum says.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "cutaway cluster karate-club",
        "cutaway cluster friends.csv --clusters 5 --out groups.csv",
        "cutaway cluster iris --neighbours 15 --target species",
    )

    data: Annotated[str, PLACE]
    """edges, points or a sample"""
    clusters: int | None = None
    """how many (default: by the widest step in the spectrum)"""
    points: bool = False
    """the table holds a point a row, not an edge (default: by its columns)"""
    target: str = ""
    """a column of known groups: left out, and compared with the clusters"""
    vertices: str = ""
    """a table of the vertices beside the edges"""
    weight: str | None = None
    """the column of weights of the edges (default: one called weight)"""
    repeats: Literal["auto", "add", "first", "last", "keep"] = "auto"
    """an edge that comes again; auto: kept once, and its weights add up; add: each counts; first, last: that one"""
    header: bool | None = None
    """whether the first row of a list of edges holds the names of its columns (default: by its looks)"""
    neighbours: int = 10
    """of points: how many near ones each is joined to"""
    radius: float | None = None
    """of points: join those that are no further apart, in place of --neighbours"""
    cut: Literal["normalised", "ratio"] = "normalised"
    """what is made small: edges cut, beside the edges or beside the vertices of a cluster"""
    regularise: Literal["auto", "always", "never"] = "auto"
    """add a weak edge between all vertices, so that parts that hang by an edge or two are not cut off (normalised cut;
    auto: where clusters of edges come out tiny, never of points); how weak is chosen by the modularity"""
    seed: int = 0
    """the same seed gives the same clusters"""
    encoding: str = "utf-8"
    """encoding of the files"""
    out: str = "clusters.csv"
    """the table to write: a row a vertex with its cluster; - for none"""
    picture: str = "clusters.html"
    """the picture to write: .html (a page with spectrum and eigenvectors), .png or .svg; - for none"""
    overwrite: bool = False
    """write files even if they are there"""
    json: bool = False
    """print JSON"""


class Source(NamedTuple):
    """What is clustered: its name, the graph, the names of its vertices, known groups, places of points, notes."""

    name: str
    graph: Any
    names: Sequence[str]
    labels: Sequence[Any] | None
    places: Any
    notes: Sequence[str]


def main(argv: Sequence[str]) -> None:
    asked = parse_flags(ClusterGraph, "cutaway cluster", argv)
    _expect(asked)
    from cutaway.data.graphs.spectra.spectral_clusters import spectral_clusters

    source = _open(asked)
    if source.graph.vertices < 2:
        raise ValueError(
            f"clusters need two vertices or more, got {source.graph.vertices} in {source.name}; look at its first rows"
        )
    if asked.clusters is not None and asked.clusters > source.graph.vertices:
        most = source.graph.vertices
        raise ValueError(f"--clusters must be at most the number of vertices, {most:,}, got {asked.clusters}; lower it")
    kind: Literal["random_walk", "plain"] = "random_walk" if asked.cut == "normalised" else "plain"
    regularise: Literal["auto", "always", "never"] = asked.regularise
    if regularise == "auto" and source.places is not None:
        regularise = "never"
    found = spectral_clusters(source.graph, asked.clusters, kind, asked.seed, regularise)
    agreement = _agreement(found, source.labels)
    written = []
    if asked.out != "-":
        from cutaway.atomic_files import write_text

        write_text(asked.out, _table(source, found))
        written.append(asked.out)
    if asked.picture != "-":
        _draw(asked.picture, source, found, agreement)
        written.append(asked.picture)
    if asked.json:
        json.dump(_facts(source, found, agreement), sys.stdout, ensure_ascii=False)
        print()
    else:
        print("\n".join(_lines(source, found, agreement, asked.cut == "ratio")))
    for path in written:
        print(path, file=sys.stderr)


def _expect(asked: ClusterGraph) -> None:
    """Flags that fit one another, before anything is read."""
    if asked.clusters is not None and asked.clusters < 2:
        raise ValueError(f"--clusters must be at least 2, got {asked.clusters}; leave it out to have it found")
    if asked.regularise == "always" and asked.cut == "ratio":
        raise ValueError("--regularise changes the normalised cut alone, got --cut ratio; leave one of them out")
    if asked.neighbours < 1:
        raise ValueError(f"--neighbours must be at least 1, got {asked.neighbours}; try --neighbours 10")
    if asked.radius is not None and not asked.radius > 0:
        raise ValueError(f"--radius must be above 0, got {asked.radius}; leave it out to join nearest points")
    if asked.picture != "-" and Path(asked.picture).suffix.lower() not in _PICTURES:
        raise ValueError(f"--picture must end in {', '.join(_PICTURES)}, got {asked.picture!r}; try clusters.png")
    for flag, path in (("--out", asked.out), ("--picture", asked.picture)):
        if path != "-" and Path(path).is_dir():
            raise ValueError(f"{flag} must be a file, got the folder {path}; add a name")
        if path != "-" and not Path(path).absolute().parent.is_dir():
            raise ValueError(f"{flag} must be in a folder that exists, got {path}; make its folder first")
        if path != "-" and Path(path).exists() and not asked.overwrite:
            raise ValueError(f"{flag} must be a new file, got {path}, which is there; add --overwrite to replace it")


def _open(asked: ClusterGraph) -> Source:
    """The graph of edges, or of near points."""
    from cutaway.data.graphs.point_tables import is_point_table, read_points

    if asked.points or is_point_table(asked.data, asked.encoding):
        if asked.vertices or asked.weight:
            raise ValueError("--vertices and --weight are for edges, got a table of points; leave them out")
        from cutaway.data.graphs.similarity import similarity_graph

        points = read_points(asked.data, asked.target, asked.encoding)
        near = None if asked.radius is not None else min(asked.neighbours, len(points.names) - 1)
        graph = similarity_graph(points.frame, near, asked.radius)
        how = f"{near} nearest points" if asked.radius is None else f"points within {asked.radius:g}"
        notes = [f"a graph of {how} is made of the {graph.vertices:,} points", *points.notes]
        return Source(points.name, graph, points.names, points.labels, points.places(), notes)
    from cutaway.data.graphs.graph_data import read_graph

    data = read_graph(
        asked.data,
        vertices=asked.vertices or None,
        target=asked.target,
        directed=False,
        weight=asked.weight,
        encoding=asked.encoding,
        header=asked.header,
        repeats=asked.repeats,
    )
    labels = None if data.targets is None else [data.label_of(v) for v in range(data.graph.vertices)]
    labels = labels if data.classes else None
    return Source(data.name, data.graph, data.names, labels, None, data.notes)


def _agreement(found: "Clusters", labels: Sequence[Any] | None) -> dict[str, float]:
    """How well clusters and known groups agree, 1 if they are the same; {} where no groups are known.

    The adjusted Rand index (Hubert, Arabie 1985) is 0 by chance; the normalised mutual information is 0 where one tells
    nothing of the other.
    """
    if labels is None:
        return {}
    from cutaway.extras import need

    both = [v for v in range(len(found.of)) if labels[v] is not None and found.of[v] >= 0]
    known, own = [str(labels[v]) for v in both], found.of[both]
    if len(set(known)) < 2:
        return {}
    metrics = need("sklearn.metrics", "tables", "comparing clusters")
    return {
        "adjusted_rand": float(metrics.adjusted_rand_score(known, own)),
        "normalised_mutual_information": float(metrics.normalized_mutual_info_score(known, own)),
    }


def _members(source: Source, found: "Clusters", k: int) -> list[str]:
    """The names of a cluster, those with most edges first."""
    import numpy as np

    degrees = source.graph.degrees().numpy()
    own = np.flatnonzero(found.of == k)
    return [source.names[v] for v in own[np.argsort(-degrees[own], kind="stable")]]


def _facts(source: Source, found: "Clusters", agreement: dict[str, float]) -> dict[str, Any]:
    return {
        "data": source.name,
        "vertices": source.graph.vertices,
        "edges": int(source.graph.edges.shape[1]),
        "clusters": [
            {"cluster": k + 1, "size": size, "first": _members(source, found, k)[:_SHOWN]}
            for k, size in enumerate(found.sizes)
        ],
        "set_aside": found.aside,
        "by_eigengap": found.by_eigengap,
        "eigenvalues": found.spectrum.values.tolist(),
        "residuals": found.spectrum.residuals.tolist(),
        "converged": bool(found.spectrum.converged.all()),
        "ratio_cut": found.ratio_cut,
        "normalised_cut": found.normalised_cut,
        "modularity": found.modularity,
        "adjusted_rand": agreement.get("adjusted_rand"),
        "normalised_mutual_information": agreement.get("normalised_mutual_information"),
        "regularised": found.regularised,
        "tried": [{"tau": tau, "modularity": value} for tau, value in found.tried],
        "notes": list(source.notes),
    }


def _lines(source: Source, found: "Clusters", agreement: dict[str, float], ratio: bool = False) -> list[str]:
    count, values = len(found.sizes), found.spectrum.values
    lines = [f"{source.name}: {source.graph.vertices:,} vertices, {source.graph.edges.shape[1]:,} edges"]
    lines += [f"  {note}" for note in source.notes]
    why = ""
    if found.by_eigengap and len(values) > count:
        step = f"λ{count} = {values[count - 1]:.3g}, λ{count + 1} = {values[count]:.3g}"
        why = f", by the widest step in the spectrum: {step}"
    lines.append(f"{count} clusters{why}")
    if found.regularised:
        reason = f"regularised by τ = {found.regularised:.3g}, which has the highest modularity, {found.modularity:.2f}"
        if found.crumbs:
            few = ", ".join(map(str, found.crumbs[:_SHOWN])) + ", …" * (len(found.crumbs) > _SHOWN)
            plain = dict(found.tried).get(0.0)
            scored = "" if plain is None else f" and has {plain:.2f}"
            vertices = "vertex" if found.crumbs == (1,) else "vertices"
            reason += f": the plain cut gives clusters of {few} {vertices}{scored}"
        lines.append(f"  {reason}")
    elif found.crumbs:
        lines.append(f"  some are tiny: {'try --cut normalised' if ratio else 'see --regularise'}")
    for k, size in enumerate(found.sizes):
        first = _members(source, found, k)[:_SHOWN]
        lines.append(f"  {k + 1:>2}  {size:>7,} vertices: {', '.join(first)}{', …' * (size > _SHOWN)}")
    if found.aside:
        lines.append(f"   –  {found.aside:>7,} vertices set aside, in pieces too small for a cluster")
    cuts = f"normalised cut {found.normalised_cut:.4g}, ratio cut {found.ratio_cut:.4g}"
    lines.append(f"{cuts}, modularity {found.modularity:.3f}")
    if not found.spectrum.converged.all():
        lines.append(f"{int((~found.spectrum.converged).sum())} eigenvectors did not converge: do not rely on this")
    if agreement:
        rand, mutual = agreement.values()
        told = f"adjusted Rand index {rand:.3f} (0 by chance), normalised mutual information {mutual:.3f}"
        lines.append(f"agreement with the known groups, 1 if the same: {told}")
    return lines


def _table(source: Source, found: "Clusters") -> str:
    """A row a vertex: its name, its cluster from 1 (empty if set aside), and its known group."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["vertex", "cluster"] + ["known"] * (source.labels is not None))
    for v, name in enumerate(source.names):
        known = [] if source.labels is None else [source.labels[v]]
        rows.writerow([name, int(found.of[v]) + 1 if found.of[v] >= 0 else "", *known])
    return text.getvalue()


def _draw(path: str, source: Source, found: "Clusters", agreement: dict[str, float]) -> None:
    """The graph with its clusters as a picture, or a page with the spectrum and the first eigenvectors."""
    from cutaway.look.graph_signals.spectra import eigenvector_picture, spectrum_picture
    from cutaway.look.graph_signals.vertex_graphs import draw_graph
    from cutaway.look.graph_signals.vertex_layouts import force_layout, spectral_layout

    groups = [f"cluster {k + 1}" if k >= 0 else "set aside" for k in found.of]
    places = source.places
    if places is None:
        places = force_layout(source.graph) if source.graph.vertices <= _DRAWN else spectral_layout(source.graph)
    caption = "Vertices of a cluster have many edges among them and few to others."
    title = f"{source.name} in clusters"
    graph = draw_graph(source.graph, groups=groups, names=source.names, layout=places, title=title, caption=caption)
    if not path.endswith(".html"):
        graph.save(path)
        return
    from cutaway.look.pages.page import Page
    from cutaway.look.pages.parts import Section

    spectrum = spectrum_picture(found.spectrum.values, clusters=len(found.sizes), converged=found.spectrum.converged)
    waves = eigenvector_picture(found.spectrum.vectors, places[found.kept], values=found.spectrum.values)
    facts = {
        "vertices": f"{source.graph.vertices:,}",
        "edges": f"{source.graph.edges.shape[1]:,}",
        "clusters": len(found.sizes),
        "normalised cut": f"{found.normalised_cut:.4g}",
        "ratio cut": f"{found.ratio_cut:.4g}",
    }
    facts |= {f"{name.replace('_', ' ')} with the known groups": f"{value:.3f}" for name, value in agreement.items()}
    Page(
        f"Clusters of {source.name}",
        "Vertices by the first eigenvectors of the graph's Laplacian, then k-means.",
        [Section("Clusters", [graph]), Section("Spectrum", [spectrum, waves])],
        facts,
    ).save(path)
