"""The reading kernel reads every byte of the keys and values once, and nothing beside them."""

import pytest
import torch

from kernels.read_only import PIECE, parities_of, read_only


def keys_and_values(words, device, generator):
    return [
        torch.randint(-(2**31), 2**31, (words,), dtype=torch.int32, device=device, generator=generator)
        for _ in range(2)
    ]


@pytest.mark.parametrize("words", [1, 17, PIECE, PIECE + 65])
def test_the_parity_of_every_piece_is_that_of_its_words(device, generator, words):
    k, v = keys_and_values(words, device, generator)
    assert torch.equal(read_only(k, v), parities_of(k, v))


def test_a_word_that_is_not_read_shows(device, generator):
    k, v = keys_and_values(PIECE + 65, device, generator)
    right = parities_of(k, v)
    for tensor, pieces in ((k, [0, 1]), (v, [2, 3])):
        for word, piece in ((PIECE - 1, pieces[0]), (PIECE + 64, pieces[1])):
            tensor[word] ^= 1
            assert (read_only(k, v) != right).nonzero().flatten().tolist() == [piece]
            tensor[word] ^= 1
