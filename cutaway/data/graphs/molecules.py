r"""Molecules from SMILES, by RDKit: atoms are vertices, bonds are edges, both with features.

    atom    element, neighbours, hydrogens, charge, hybridisation, aromatic, in a ring
    bond    single, double, triple or aromatic; conjugated; in a ring

A molecule that comes again (the same canonical SMILES) is kept once: if its classes differ it is left out, of numbers
the mean is taken. Weininger 1988; the features are those of Gilmer et al. 2017, without positions.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cutaway.blocks.graphs.graph import Graph
from cutaway.data.checks import nearest
from cutaway.data.fingerprints import fingerprint_bytes, fingerprint_files
from cutaway.data.graphs.raw_graph_sets import RawGraphSet
from cutaway.data.tables.reading import fingerprint_frame
from cutaway.data.tables.table_files import as_frame, load_frame
from cutaway.extras import need

_ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br", "I", "P", "B", "Si")
_HYBRIDS = ("SP", "SP2", "SP3")
_LONGEST = 1_000  # characters of a SMILES
_BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")
ATOM_FEATURES = (
    *(f"element={e}" for e in (*_ELEMENTS, "other")),
    *(f"neighbours={n}" for n in range(6)),
    *(f"hydrogens={n}" for n in range(5)),
    "charge",
    *(f"hybridisation={h}" for h in (*_HYBRIDS, "other")),
    "aromatic",
    "in a ring",
)
BOND_FEATURES = (*(f"bond={b.lower()}" for b in _BONDS), "conjugated", "in a ring")


def molecule_graph(molecule: Any) -> Graph:
    """The graph of a molecule of RDKit, with features of atoms and bonds."""
    atoms = [_atom(atom) for atom in molecule.GetAtoms()]
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds()]
    features = [_bond(bond) for bond in molecule.GetBonds()]
    return Graph(
        torch.tensor(bonds, dtype=torch.int64).reshape(-1, 2).T,
        len(atoms),
        x=torch.tensor(atoms, dtype=torch.float32).reshape(len(atoms), len(ATOM_FEATURES)),
        edge_features=torch.tensor(features, dtype=torch.float32).reshape(len(bonds), len(BOND_FEATURES)),
    )


def _choice(value: Any, choices: Iterable[Any]) -> list[bool]:
    return [value == choice for choice in choices]


def _atom(atom: Any) -> list[float]:
    element, hybrid = atom.GetSymbol(), str(atom.GetHybridization())
    return [
        *_choice(element if element in _ELEMENTS else "other", (*_ELEMENTS, "other")),
        *_choice(min(atom.GetDegree(), 5), range(6)),
        *_choice(min(atom.GetTotalNumHs(), 4), range(5)),
        atom.GetFormalCharge(),
        *_choice(hybrid if hybrid in _HYBRIDS else "other", (*_HYBRIDS, "other")),
        atom.GetIsAromatic(),
        atom.IsInRing(),
    ]


def _bond(bond: Any) -> list[float]:
    return [*_choice(str(bond.GetBondType()), _BONDS), bond.GetIsConjugated(), bond.IsInRing()]


def parse_smiles(texts: Iterable[str]) -> list[Any]:
    """The molecules of RDKit; None for what is no SMILES. RDKit's own complaints are not shown."""
    chem = need("rdkit.Chem", "molecules", "reading SMILES")
    base = need("rdkit.rdBase", "molecules", "reading SMILES")
    with base.BlockLogs():
        return [None if is_too_long(str(text)) else chem.MolFromSmiles(str(text).strip()) or None for text in texts]


def is_too_long(text: str) -> bool:
    """Whether RDKit, which follows chains and branches by recursion, could overflow its stack on a SMILES."""
    return len(text) > _LONGEST


def scaffolds(molecules: Iterable[Any]) -> list[str]:
    """The skeletons of molecules, rings and what links them, as SMILES. Bemis, Murcko 1996."""
    murcko = need("rdkit.Chem.Scaffolds.MurckoScaffold", "molecules", "reading SMILES")
    base = need("rdkit.rdBase", "molecules", "reading SMILES")
    with base.BlockLogs():
        return [murcko.MurckoScaffoldSmiles(mol=molecule, includeChirality=False) for molecule in molecules]


def read_molecules(source: Any, target: str = "", smiles: str = "", encoding: str = "utf-8") -> RawGraphSet:
    """The molecules of a table with a column of SMILES, or of a list of SMILES without targets."""
    chem = need("rdkit.Chem", "molecules", "reading SMILES")
    if isinstance(source, (list, tuple)):
        texts, values, label, name = list(source), None, "", "molecules"
        fingerprint = fingerprint_bytes("\n".join(texts).encode())
    else:
        path = isinstance(source, Path)
        frame = load_frame(source, encoding) if path else as_frame(source)
        name = source.name if path else "molecules"
        fingerprint = fingerprint_files({name: source}) if path else fingerprint_frame(frame)
        column = _smiles_column(frame, smiles, name)
        label = _target_column(frame, target, column, name)
        texts = frame[column].fillna("").astype(str).tolist()
        values = frame[label].to_numpy() if label else None
    long = [i for i, text in enumerate(texts) if is_too_long(str(text))]
    if long and len(long) == len(texts):
        raise ValueError(
            f"a SMILES must have at most {_LONGEST:,} characters, got {len(texts[long[0]]):,} in {name}, which begins "
            f"{texts[long[0]][:20]!r}; give smaller molecules"
        )
    molecules = parse_smiles(texts)
    read = [i for i, molecule in enumerate(molecules) if molecule is not None and molecule.GetNumAtoms()]
    if not read:
        raise ValueError(
            f"molecules must be SMILES, got {texts[0][:60]!r} in {name}, and no better; name another column"
        )
    notes = []
    if long:
        notes.append(f"left out: {len(long):,} of {len(texts):,} that have more than {_LONGEST:,} characters")
    none = sorted(set(range(len(texts))) - set(read) - set(long))
    if none:
        notes.append(f"left out: {len(none):,} of {len(texts):,} that are no SMILES, first {texts[none[0]]!r}")
    kept, values = _without_repeats([chem.MolToSmiles(molecules[i]) for i in read], read, values, notes)
    return RawGraphSet(
        name,
        [molecule_graph(molecules[i]) for i in kept],
        [texts[i].strip() for i in kept],
        values,
        label,
        fingerprint,
        ATOM_FEATURES,
        BOND_FEATURES,
        scaffolds([molecules[i] for i in kept]),
        notes,
    )


def _without_repeats(
    canonical: list[str], rows: list[int], values: np.ndarray | None, notes: list[str]
) -> tuple[list[int], np.ndarray | None]:
    """One row for each molecule, and its value."""
    groups: dict[str, list[int]] = {}
    for text, row in zip(canonical, rows, strict=True):
        groups.setdefault(text, []).append(row)
    repeats = len(rows) - len(groups)
    if repeats:
        notes.append(f"{repeats:,} molecules came again: kept once")
    if values is None:
        return [group[0] for group in groups.values()], None
    kept, chosen, torn = [], [], 0
    numbers = values.dtype.kind == "f" and not (values[~np.isnan(values)] % 1 == 0).all()
    for group in groups.values():
        own = values[group]
        if numbers:
            known = own[~np.isnan(own)]
            value = known.mean() if len(known) else np.nan
        elif len({str(v) for v in own}) > 1:
            torn += 1
            continue
        else:
            value = own[0]
        kept.append(group[0])
        chosen.append(value)
    if torn:
        notes.append(f"left out: {torn:,} molecules that came again with another class")
    return kept, np.array(chosen, values.dtype)


def _smiles_column(frame: Any, asked: str, name: str) -> str:
    names = list(map(str, frame.columns))
    if asked:
        if asked not in names:
            raise ValueError(
                f"smiles must be a column of {name}, got {asked!r}; the nearest are: {nearest(asked, names)}"
            )
        return asked
    found = [column for column in names if "smiles" in column.casefold()]
    if not found:
        raise ValueError(
            f"many graphs must be molecules with a column of SMILES, a folder of graphs or a .txt of graphs, got the "
            f"columns {', '.join(names[:6])} in {name}; name the column of SMILES by smiles, or, for one graph with a "
            "row an edge, use a recipe for vertices"
        )
    return found[0]


def _target_column(frame: Any, asked: str, smiles: str, name: str) -> str:
    names = [str(column) for column in frame.columns if str(column) != smiles]
    if asked:
        if asked not in names:
            raise ValueError(
                f"target must be a column of {name}, got {asked!r}; the nearest are: {nearest(asked, names)}"
            )
        return asked
    folded = {column.casefold(): column for column in reversed(names)}
    usual = next((folded[word] for word in ("target", "label", "class", "y", "p_np", "activity") if word in folded), "")
    measured = [column for column in names if column.casefold().startswith("measured")]
    return usual or (measured[0] if measured else names[-1] if names else "")


__all__ = ["ATOM_FEATURES", "BOND_FEATURES", "molecule_graph", "parse_smiles", "read_molecules"]
