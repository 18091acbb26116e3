"""Molecules from SMILES."""

from pathlib import Path

import pandas as pd
import pytest

import cutaway as cut
from cutaway.data.graphs.graph_set import open_graphs
from cutaway.data.graphs.molecules import ATOM_FEATURES, BOND_FEATURES, molecule_graph, parse_smiles


def features(graph: cut.blocks.Graph, atom: int) -> set[str]:
    return {name for name, value in zip(ATOM_FEATURES, graph.x[atom].tolist()) if value}


def test_ethanol_and_benzene_by_hand():
    ethanol, benzene = (molecule_graph(molecule) for molecule in parse_smiles(["CCO", "c1ccccc1"]))
    assert ethanol.edges.tolist() == [[0, 1], [1, 2]]
    assert features(ethanol, 2) == {"element=O", "neighbours=1", "hydrogens=1", "hybridisation=SP3"}
    assert ethanol.edge_features[:, BOND_FEATURES.index("bond=single")].tolist() == [1, 1]
    assert features(benzene, 0) == {
        *("element=C", "neighbours=2", "hydrogens=1", "hybridisation=SP2", "aromatic", "in a ring")
    }
    assert benzene.edge_features[:, BOND_FEATURES.index("bond=aromatic")].sum() == 6


def test_repeats_and_what_is_no_smiles():
    frame = pd.DataFrame({"smiles": ["CCO", "OCC", "C", "C", "not one", "CC"], "label": ["a", "a", "a", "b", "a", "b"]})
    data = cut.data.read_graphs(frame, validation=0, test=0)
    assert data.train.names == ("CCO", "CC")
    told = " ".join(data.notes)
    assert "left out: 1 of 6 that are no SMILES, first 'not one'" in told
    assert "2 molecules came again: kept once" in told
    assert "left out: 1 molecules that came again with another class" in told
    numbers = pd.DataFrame({"smiles": ["CCO", "OCC", "CC"], "y": [1.0, 2.0, 0.25]})
    assert cut.data.read_graphs(numbers, validation=0, test=0).train.targets.tolist() == [1.5, 0.25]


def test_public_data(data_folder: Path):
    bbbp = cut.data.read_graphs(data_folder / "graphs" / "bbbp.csv.xz", split="scaffold")
    assert bbbp.classes == ("0", "1")
    assert sum(bbbp.counts.values()) == 1965
    esol = cut.data.read_graphs(data_folder / "graphs" / "esol_delaney.csv.xz")
    assert esol.target == "measured log solubility in mols per litre"
    assert esol.classes == ()


def test_mistakes():
    frame = pd.DataFrame({"smiles": ["xx", "yy"], "label": [0, 1]})
    with pytest.raises(ValueError, match="molecules must be SMILES, got 'xx' in molecules"):
        cut.data.read_graphs(frame)
    with pytest.raises(ValueError, match="smiles must be a column of molecules, got 'smile'; the nearest are: smiles"):
        cut.data.read_graphs(frame, smiles="smile")
    with pytest.raises(ValueError, match="target must be a column of molecules, got 'lable'; the nearest are: label"):
        cut.data.read_graphs(frame, target="lable")


def test_long_smiles_are_refused_before_they_are_parsed():
    with pytest.raises(ValueError, match=r"a SMILES must have at most 1,000 characters, got 20,000 in molecules"):
        cut.data.read_graphs(["C" * 20_000])
    assert open_graphs(["C" * 20_000, "CCO"]).notes == ["left out: 1 of 2 that have more than 1,000 characters"]
