import os
import zipfile
from pathlib import Path

import pytest
from pictures import make_classes, small_image

from cutaway.data.images.decoding import DamagedImageError
from cutaway.data.images.image_data import read_images
from cutaway.data.images.image_files import files_by_name, files_in_folder, files_in_zip


def test_what_is_left_out_of_a_folder(tmp_path: Path):
    make_classes(tmp_path)
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "cat" / "._0.png").write_bytes(b"x")
    (tmp_path / "cat" / "Thumbs.db").write_bytes(b"x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "1.png").write_bytes(b"x")
    (tmp_path / "readme.txt").write_text("hello")
    (tmp_path / "film.mp4").write_bytes(b"x")
    (tmp_path / "LICENSE").write_text("free")
    (tmp_path / "empty").mkdir()
    small_image().save(tmp_path / "dog" / "BIG.PNG")
    small_image().save(tmp_path / "dog" / "noending", format="PNG")
    found = files_in_folder(tmp_path)
    assert len(found.names) == 12
    assert {"dog/BIG.PNG", "dog/noending"} < set(found.names)
    assert found.notes() == [
        "left out: 3 files that are no images (1 without ending, 1 .mp4, 1 .txt)",
        "left out: 3 hidden files",
        "folders without images: empty",
    ]


def test_links_in_circles_and_into_nothing(tmp_path: Path):
    make_classes(tmp_path)
    (tmp_path / "cat" / "back").symlink_to(tmp_path)
    (tmp_path / "dog" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    found = files_in_folder(tmp_path)
    assert len(found.names) == 10
    (note,) = found.notes()
    assert note.startswith("left out: 1 files that cannot be read (links that lead nowhere, pipes, devices")
    assert note.endswith("the first is dog/gone.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_pipes_and_devices_among_images_are_left_out(tmp_path: Path):
    """Reading one would never end."""
    make_classes(tmp_path)
    os.mkfifo(tmp_path / "cat" / "pipe.png")
    os.mkfifo(tmp_path / "cat" / "pipe-without-ending")
    (tmp_path / "cat" / "zero.jpg").symlink_to("/dev/zero")
    (tmp_path / "cat" / "linked.jpg").symlink_to("pipe.png")
    (tmp_path / "cat" / "loop.jpg").symlink_to("loop.jpg")
    (tmp_path / "cat" / "folder.jpg").mkdir()
    found = files_in_folder(tmp_path)
    assert len(found.names) == 10
    assert any(note.startswith("left out: 5 files that cannot be read") for note in found.notes())
    assert found.fingerprint(None).size > 0


def test_a_zip_reads_as_its_folder(tmp_path: Path):
    folder = make_classes(tmp_path / "pets")
    with zipfile.ZipFile(tmp_path / "pets.zip", "w") as archive:
        archive.writestr("__MACOSX/pets/._0.png", b"x")
        for path in sorted(folder.rglob("*.png")):
            archive.write(path, path.relative_to(tmp_path).as_posix())
    a, b = (read_images(tmp_path / name, labelled=True) for name in ("pets", "pets.zip"))
    assert a.labels == b.labels == ("cat", "dog")
    assert (a.train.pixels() == b.train.pixels()).all()
    assert files_in_zip(tmp_path / "pets.zip").notes() == ["left out: 1 hidden files"]


def test_damaged_members_and_zips(tmp_path: Path):
    folder = make_classes(tmp_path / "pets")
    with zipfile.ZipFile(tmp_path / "pets.zip", "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.rglob("*.png")):
            archive.write(path, path.relative_to(tmp_path).as_posix())
    content = bytearray((tmp_path / "pets.zip").read_bytes())
    content[200] ^= 255  # inside the first image
    (tmp_path / "pets.zip").write_bytes(content)
    files = files_in_zip(tmp_path / "pets.zip")
    with pytest.raises(DamagedImageError, match="Bad CRC-32"):
        files.read(files.names[0])
    assert (
        "1 damaged of 10 files (pets/cat/0.png: Bad CRC-32"
        in read_images(tmp_path / "pets.zip", labelled=True).summary()
    )
    (tmp_path / "half.zip").write_bytes(content[:500])
    with pytest.raises(ValueError, match=r"a zip must be whole, got .*half.zip, which is damaged"):
        read_images(tmp_path / "half.zip")
    (tmp_path / "half.png").write_bytes(content[:500])
    with pytest.raises(ValueError, match=r"a zip must be whole, got .*half.png, which is damaged"):
        read_images(tmp_path / "half.png")
    (tmp_path / "none.zip").write_bytes(b"")
    with pytest.raises(ValueError, match=r"none.zip, which is damaged \(it is empty\); copy it again"):
        read_images(tmp_path / "none.zip")


def test_entries_that_lead_out_of_a_zip_are_told(tmp_path: Path):
    image = (make_classes(tmp_path / "pets") / "cat" / "0.png").read_bytes()
    with zipfile.ZipFile(tmp_path / "out.zip", "w") as archive:
        for name in ("../../a/1.png", "/etc/2.png", "a/3.png", "b/4.png"):
            archive.writestr(name, image)
    found = files_in_zip(tmp_path / "out.zip")
    assert found.names == ("a/3.png", "b/4.png")
    assert found.notes() == ["left out: 2 files whose path leads out of the zip, the first is ../../a/1.png"]


def test_files_must_exist(tmp_path: Path):
    with pytest.raises(ValueError, match=r"every image must be a file that exists, got .*gone.png"):
        files_by_name([tmp_path / "gone.png"])
