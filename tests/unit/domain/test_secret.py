"""Secrets: usable by the one who must, invisible to everyone else."""

from __future__ import annotations

import copy
import json
import pickle
import traceback

import pytest

from dashboard.domain.secret import MASK, Secret


def test_secret_reveals_its_text_on_purpose_only() -> None:
    assert Secret("hunter2").reveal() == "hunter2"


def test_secret_prints_as_a_mask_in_every_way_of_printing() -> None:
    secret = Secret("hunter2")

    assert {str(secret), repr(secret), f"{secret}", f"{secret!r}", f"{secret:>3}"} == {MASK}
    assert "hunter2" not in str({"key": [secret]})


def test_secret_does_not_show_in_a_traceback() -> None:
    secret = Secret("hunter2")

    with pytest.raises(ValueError, match=MASK) as caught:
        raise ValueError(secret)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_secret_is_not_written_out() -> None:
    secret = Secret("hunter2")

    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(secret)
    with pytest.raises(TypeError, match="not pickled"):
        copy.copy(secret)
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(secret)


def test_secrets_are_equal_by_their_texts() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_secret_is_true_unless_it_is_empty() -> None:
    assert Secret("a")
    assert not Secret("")
