"""Records of laws: each capability is present, or the record gives a reason for its absence."""

import pytest

from levelflow import library
from levelflow.theory.errors import TheoryError
from levelflow.theory.fluid.law import Law
from levelflow.theory.fluid.registry import model
from levelflow.theory.laws import LAWS, need, supporting, theory_of
from levelflow.theory.record import CAPABILITIES, MAX_MIN, UTILITY, NotSupported

REGISTERED = [law["name"] for law in library.laws()]


def test_each_file_is_that_of_a_registered_law():
    assert set(LAWS) <= set(REGISTERED)


# **Invariant** (Theory): each registered law has each capability or a reason for its absence. For a law without a file,
# theory prints one line. See `test_theory_of_a_law_without_a_file_is_one_line`.
@pytest.mark.parametrize("law", REGISTERED)
def test_each_law_has_each_capability_or_a_reason(law):
    for name in CAPABILITIES:
        found = getattr(theory_of(law), name)
        if isinstance(found, NotSupported):
            assert found.reason
            assert not found.reason.endswith(".")
            with pytest.raises(TheoryError) as refused:
                need(law, name)
            assert found.reason in str(refused.value)
        elif name == "fluid":
            assert issubclass(model(law), Law)
        elif name == "reference":
            assert found in {MAX_MIN, UTILITY}
        else:
            assert need(law, name) is found


def test_laws_with_an_equilibrium_are_compared_with_it():
    assert supporting("equilibrium").keys() == supporting("in_scenario").keys() == supporting("reference").keys()


def test_theory_of_a_law_without_a_file_is_one_line():
    for name, words in CAPABILITIES.items():
        with pytest.raises(TheoryError, match=f"newlaw has no {words}: theory has no record of newlaw; needs one of"):
            need("newlaw", name)


def test_the_command_lists_each_law_with_capabilities_or_reasons(levelflow):
    for law in LAWS:
        assert law in levelflow("theory", "laws").stdout
    assert "delays do not matter" in " ".join(levelflow("theory", "laws", "emkc").stdout.split())
