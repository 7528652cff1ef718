"""Words are hashed as scikit-learn does it."""

import time

from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from slimg.io.hashing import murmur3


@given(st.text())
def test_the_hash_is_scikit_learns(text):
    assert murmur3(text) == murmurhash3_32(text, positive=True)


def test_known_values_of_the_published_function():
    assert [murmur3(text) for text in ("", "a", "aaaa", "Hello, world!")] == [0, 0x3C2569B2, 0x7EEED987, 0xC0363E43]


def test_a_vocabulary_takes_no_time():
    begun = time.process_time()
    for number in range(20_000):
        murmur3(f"word{number}")
    assert time.process_time() - begun < 1
