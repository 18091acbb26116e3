from cutaway.data.images.image_folders import labels_by_folder


def test_parts_at_the_top():
    names = ["x/Train/a/1.png", "x/val/a/2.png", "x/test/b/3.png"]
    assert labels_by_folder(names) == (["a", "a", "b"], ["train", "validation", "test"])


def test_classes_that_are_called_like_parts_but_for_train():
    assert labels_by_folder(["test/1.png", "other/1.png"]) == (["test", "other"], ["", ""])


def test_train_alone_is_the_whole():
    assert labels_by_folder(["train/a/1.png", "train/b/1.png"]) == (["a", "b"], ["", ""])


def test_flat_folders_have_no_labels():
    assert labels_by_folder(["1.png", "2.png"]) == ([None, None], ["", ""])
    assert labels_by_folder(["all/1.png", "all/2.png"]) == ([None, None], ["", ""])


def test_depth():
    names = ["a/x/1.png", "a/y/1.png", "b/1.png"]
    assert labels_by_folder(names)[0] == ["a", "a", "b"]
    assert labels_by_folder(names, "last")[0] == ["a/x", "a/y", "b"]
