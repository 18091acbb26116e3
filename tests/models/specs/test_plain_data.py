"""What every spec can do."""

import numpy as np
import pytest

from cutaway.models import AttentionSpec, HeadSpec, NormSpec, PositionSpec, ScalingSpec


def test_but_changes_a_copy_and_reaches_into_parts():
    rotary = PositionSpec("rotary", scaling=ScalingSpec("yarn", 4.0, 16, attention=1.2))
    assert rotary.but(scaling__factor=8.0, base=500.0) == PositionSpec(
        "rotary", base=500.0, scaling=ScalingSpec("yarn", 8.0, 16, attention=1.2)
    )
    assert rotary.scaling.factor == 4.0


@pytest.mark.untyped
def test_numbers_of_other_libraries_become_plain():
    spec = AttentionSpec(heads=np.int64(6), dropout=np.float32(0.5))
    assert type(spec.heads) is int
    assert type(spec.dropout) is float


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NormSpec().but(kin="rms"), "NormSpec has no kin; it has kind, epsilon, bias"),
        (lambda: NormSpec().but(kind__inner=1), "NormSpec has no kind__inner; it has kind"),
        (lambda: NormSpec.from_dict({"kind": "rms", "extra": 1}), "NormSpec has no extra; it has bias, epsilon, kind"),
        (lambda: ScalingSpec.from_dict({"kind": "linear"}), "ScalingSpec needs factor, got only kind"),
    ],
)
def test_messages(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.untyped
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"heads": "six"}, "AttentionSpec.heads must be a whole number, got 'six'"),
        ({"heads": 2.5}, "AttentionSpec.heads must be a whole number, got 2.5"),
        ({"heads": True}, "AttentionSpec.heads must be a whole number, got True"),
        ({"norm": 1}, "AttentionSpec.norm must be True or False, got 1"),
        ({"window": "wide"}, "AttentionSpec.window must be a whole number or None, got 'wide'"),
        ({"bias": 3}, "AttentionSpec.bias must be True or False or a name, got 3"),
    ],
)
def test_types_of_fields(values: dict, message: str):
    with pytest.raises(ValueError, match=message):
        AttentionSpec.from_dict(values)


@pytest.mark.untyped
def test_types_of_lists():
    with pytest.raises(ValueError, match=r"HeadSpec.labels must be tuple\[str, ...\], got \('a', 1\)"):
        HeadSpec("tags", labels=("a", 1))
    with pytest.raises(ValueError, match=r"a NormSpec must be a dict of its fields, got \[1\]; to_dict\(\) makes one"):
        NormSpec.from_dict([1])
