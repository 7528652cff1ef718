"""The container: what goes in comes out, numpy reads it, and no byte of it can change unnoticed."""

import hashlib
import json
import os
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slimg.errors import InputError
from slimg.inference import model_file
from slimg.inference.model_file import VERSION, read_model, write_model

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([], np.int64), "c": np.array(2.5)}
HEADER = {"slimg": "9", "words": ["ö", '"', "\n"]}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model") / "m.slimg", HEADER, ARRAYS)


def test_what_goes_in_comes_out(saved):
    header, arrays = read_model(saved)
    assert header["words"] == HEADER["words"] and header["version"] == VERSION
    assert list(arrays) == list(ARRAYS)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert array.dtype == ARRAYS[name].dtype and array.shape == ARRAYS[name].shape


def test_plain_numpy_reads_it(saved):
    with np.load(saved, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["a"], ARRAYS["a"])
        assert json.loads(archive["header.json"])["format"] == "slimg-model"


def test_equal_models_are_equal_bytes(saved, tmp_path):
    again = write_model(tmp_path / "n.slimg", HEADER, ARRAYS)
    assert again.read_bytes() == saved.read_bytes()


@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_any_flipped_bit_is_refused(saved, tmp_path_factory, place, bit):
    content = bytearray(saved.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    broken = tmp_path_factory.mktemp("broken") / "m.slimg"
    broken.write_bytes(content)
    with pytest.raises(InputError, match=r"damaged|not a slimg model file|not a whole") as error:
        read_model(broken)
    assert "\n" not in str(error.value)


@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=30, deadline=None)
def test_a_cut_file_is_refused(saved, tmp_path_factory, share):
    content = saved.read_bytes()
    broken = tmp_path_factory.mktemp("broken") / "m.slimg"
    broken.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=r"cut short|not a slimg model file"):
        read_model(broken)


def test_another_version_is_refused_with_both_named(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "VERSION", 1)
    path = write_model(tmp_path / "m.slimg", HEADER, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"version 1 of the model format \(written by slimg 9\); this slimg reads"):
        read_model(path)


def test_an_array_exchanged_inside_is_refused(saved, tmp_path):
    """Even if somebody writes a zip and checksum of their own around it, the header's checksums do not agree."""
    other = write_model(tmp_path / "m.slimg", HEADER, {**ARRAYS, "a": ARRAYS["a"] + 1})
    with zipfile.ZipFile(saved) as archive:
        header = archive.read("header.json")
    with zipfile.ZipFile(other) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    forged = tmp_path / "forged.slimg"
    with zipfile.ZipFile(forged, "w") as archive:
        for name, content in {**members, "header.json": header}.items():
            archive.writestr(name, content)
        archive.comment = b"0" * 64
    content = forged.read_bytes()[:-64]
    forged.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    with pytest.raises(InputError, match="array 'a' does not match its checksum"):
        read_model(forged)


def test_other_files_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("hello, this is a file of plain text that is longer than a checksum of sixty-four letters")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(30))
    expected = {text: "no zip archive", tmp_path / "arrays.npz": "damaged", tmp_path / "none": "cannot be read"}
    for path, words in expected.items():
        with pytest.raises(InputError, match=words):
            read_model(path)


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = write_model(tmp_path / "m.slimg", HEADER, ARRAYS)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_model(path, HEADER, {"z": np.zeros(3)})
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["m.slimg"]


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        write_model(tmp_path, HEADER, ARRAYS)
    with pytest.raises(InputError, match=r"cannot be written.*no"):
        write_model(tmp_path / "no" / "m.slimg", HEADER, ARRAYS)
