from pathlib import Path

import pytest
from pictures import make_classes, small_image

from cutaway.data.images.image_data import read_images, read_new_images
from cutaway.data.images.image_lists import read_image_list


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    for i in range(6):
        small_image(i).save(tmp_path / "photos" / f"{i}.png")
    return tmp_path


def write(folder: Path, *lines: str) -> Path:
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder / "labels.csv"


def test_paths_and_labels(folder: Path):
    path = write(folder, "file,label", *(f"photos/{i}.png,{'ab'[i % 2]}" for i in range(6)))
    found = read_image_list(path)
    assert list(found.paths) == [f"photos/{i}.png" for i in range(6)]
    assert found.labels == ["a", "b"] * 3
    data = read_images(path, labelled=True, validation=0.0, test=0.0)
    assert data.labels == ("a", "b")
    assert data.train.names.tolist() == list(found.paths)
    assert read_images(folder, labelled=True, validation=0.0, test=0.0).labels == ("a", "b")  # the folder of both


def test_without_a_need_for_labels_a_table_need_not_tell_its_own(folder: Path):
    path = write(folder, "file,kind,day", *(f"photos/{i}.png,{'ab'[i % 2]},{'xy'[i % 2]}" for i in range(6)))
    with pytest.raises(ValueError, match=r"must have a column of labels, got kind, day in labels.csv; choose one with"):
        read_image_list(path)
    assert read_image_list(path, labelled=False).labels == [None] * 6
    assert read_image_list(path, "kind", labelled=False).labels == ["a", "b"] * 3
    rows, _ = read_new_images(path, (3, 4, 4), "crop", ["a", "b"])
    assert rows.targets.tolist() == [-1] * 6


def test_bare_names_without_ending_as_in_competitions(folder: Path):
    path = write(folder, "id,breed,width", *(f"{i},{'ab'[i % 2]},{i * 1.5}" for i in range(6)))
    found = read_image_list(path)
    assert found.target == "breed"
    assert found.labels == ["a", "b"] * 3


def test_backslashes_and_semicolons_as_windows_writes_them(folder: Path):
    path = write(folder, "file;label", *(f"photos\\{i}.png;{'ab'[i % 2]}" for i in range(6)))
    assert read_image_list(path).labels == ["a", "b"] * 3


def test_a_table_inside_the_folder_as_hugging_face_has_it(tmp_path: Path):
    (tmp_path / "train").mkdir()
    for i in range(6):
        small_image(i).save(tmp_path / "train" / f"{i}.png")
    lines = ["file_name,label", *(f"{i}.png,{'ab'[i % 2]}" for i in range(6))]
    (tmp_path / "train" / "metadata.csv").write_text("\n".join(lines))
    assert read_images(tmp_path, labelled=True).labels == ("a", "b")


def test_a_column_of_parts(folder: Path):
    path = write(
        folder, "path,class,split", *(f"photos/{i}.png,{'ab'[i % 2]},{'test' if i > 3 else 'train'}" for i in range(6))
    )
    data = read_images(path, labelled=True, validation=0.0)
    assert data.counts == {"training": 4, "validation": 0, "test": 2}


def test_rows_without_image_and_images_without_row_are_told(folder: Path):
    path = write(
        folder, "file,label", "photos/0.png,a", "photos/1.png,b", "photos/1.png,b", "photos/9.png,a", "photos/2.png,"
    )
    found = read_image_list(path)
    assert found.labels == ["a", "b", None]
    assert "left out: 1 rows whose image is no file that can be read, the first is 'photos/9.png'" in found.notes
    assert "left out: 1 rows that name an image a second time" in found.notes
    assert "left out: 3 images beside the table that it does not name" in found.notes
    assert "left out: 1 images without a label" in read_images(path, labelled=True, test=0.0, validation=0.0).summary()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["file,label", "x/17,a"], r"must have a column of files that exist, got file, label in labels.csv, where"),
        (
            ["file,label", "x/17.png,a", "18.png,b"],
            r"files that exist, got none of 2 \(the first is 'x/17.png'\)",
        ),
        (
            ["file,label", "photos/1.png,a", "photos/7.png,a", "photos/8.png,a"],
            r"got 2 of 3 that do not \(the first is 'photos/7.png'\)",
        ),
        (["file,label", "photos/1.png,a", "photos/1.png,b"], r"must have one label, got 'a' and 'b' for photos/1.png"),
        (
            ["file,shape,colour", "photos/1.png,a,c", "photos/2.png,a,c"],
            r"a column of labels, got shape, colour in labels.csv; .* --target shape",
        ),
        ([""], r"a table must have a row, got labels.csv, which is empty"),
    ],
)
def test_tables_that_are_refused(folder: Path, lines: list[str], message: str):
    with pytest.raises(ValueError, match=message):
        read_image_list(write(folder, *lines))


def test_target_by_name(folder: Path):
    path = write(folder, "file,shape,colour", "photos/1.png,a,c", "photos/2.png,a,d")
    assert read_image_list(path, "colour").labels == ["c", "d"]
    with pytest.raises(
        ValueError, match=r"target must be a column of the table, got 'color' for labels.csv; the nearest are: colour"
    ):
        read_image_list(path, "color")


def test_a_table_beside_folders_of_classes_is_left_alone(tmp_path: Path):
    make_classes(tmp_path)
    write(tmp_path, "file,label", "cat/0.png,x", "dog/0.png,y")
    assert read_images(tmp_path, labelled=True).labels == ("cat", "dog")
