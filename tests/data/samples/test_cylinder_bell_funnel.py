import numpy as np

from cutaway.data.samples.cylinder_bell_funnel import CLASSES, sample_series


def test_shapes_by_class():
    frame = sample_series("cylinder-bell-funnel")
    assert frame.shape == (930, 129)
    assert (frame["class"].value_counts() == 310).all()
    means = {name: rows.drop(columns="class").to_numpy().mean(0) for name, rows in frame.groupby("class")}
    assert set(means) == set(CLASSES)
    # Before step 16 there is noise alone; then a funnel falls from its start, a bell rises to its end.
    for mean in means.values():
        assert abs(mean[:14]).max() < 0.25
    assert means["funnel"][33:45].mean() > 2 * means["bell"][33:45].mean()
    assert means["bell"][70:90].mean() > 1.5 * means["funnel"][70:90].mean()
    assert means["cylinder"][34:44].min() > 5.4
    noise = frame.iloc[:, 1:15].to_numpy()
    np.testing.assert_allclose([noise.mean(), noise.std()], [0, 1], atol=0.03)
