"""Each function of `levelflow.theory` reacts to invalid input with a result or with a line that names the argument.

The tests omit switches, words that are only displayed, and arguments that other functions of the package create. The
latter are dataclasses, functions, and arrays of checked types (`Floats`, `Ints`, `Matrix`). Each argument without a
default has a valid value in the tables.
"""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np
import polars as pl
import pytest

import andrew_models
import kunniyur_models
import zhang_models
from andrew_models import maxnet_fluid
from kunniyur_models import fluid as fluid_ks
from levelflow import Scenario, theory
from levelflow.theory.errors import TheoryError
from levelflow.theory.fluid import law as fluid_law
from levelflow.theory.fluid import topology as fluid_network
from levelflow.theory.laws import ks, rcp
from levelflow.theory.laws.shared import maxnet_model as maxnet
from levelflow.theory.laws.shared.maxnet_stability import Compensator
from levelflow.theory.networks import paths
from levelflow.theory.networks.assignment import assign
from levelflow.theory.networks.membership import LEVELFLOW, networks
from levelflow.theory.networks.routes import read_crossings
from levelflow.theory.stability import delay_batches, quasi
from zhang_models import adaptive_buffer, windows
from zhang_models.loss import interrupted_bernoulli
from zhang_models.overshoot import ScalableTcp

ROUTES, MATRIX = [[0], [0, 1]], [[0.5, 0.2], [-0.1, 0.4]]
SCENARIO = (
    Scenario("one", "10 s").link("A", "B", "1 Mb/s", "10 ms", duplex=True).flow("x", "jetmax", "A", "B").resolve()
)
COMPLETIONS = pl.DataFrame(
    [("x", 1000, 0.1, 0.2)],
    schema={"flow": pl.Enum(["x"]), "bytes": pl.UInt64, "rtt_s": pl.Float64, "fct_s": pl.Float64},
    orient="row",
)
FIG = assign([[0, 1], [1], [1, 2], [2]], [0, 1, 1, 2])
PATHS = paths.paths(ROUTES, 2, 2, 1)
SETTINGS = adaptive_buffer.Settings(utilisation=0.9, loss=0.02)

#: Values of parameters by name, for functions without a separate value.
USUAL = {
    "acks": 10, "active": [1.0], "admitted": 5.0, "after": [0.5, 0.6], "alpha": 0.5, "alpha_over_beta": 0.5,
    "among": 0.1, "arrivals": 1.0, "assignment": FIG,
    "batch": networks(2, 2, [2.0, 3.0], [1, 1]), "at": 0.0, "backlogs": 10.0, "backward": [1, 2],
    "before": 0.9, "beta": 0.5, "bottlenecks": [0, 1], "buffer": 20, "burdens": [1.0, 1.0], "capacities": [1.0, 2.0],
    "capacity": 10.0, "chance": 0.1, "compensator": Compensator(0.1, 0.3), "completions": COMPLETIONS, "count": 2,
    "counts": 1.0, "cut": 0.5, "damping": "signed", "delay": 2, "delays": [1, 2], "draws": 3, "dropped": 1.0,
    "dual": np.eye(2), "duration": 1.0, "eps": 0.1, "every": 1, "exponents": 1.0, "factor": 0.5, "feedback": 0.1,
    "flows": 3, "forward": [1, 2], "frequency": 1.0, "gain": 0.5, "gains": (0.5, 0.5), "gradient": 0.1,
    "inputs": [0.1, 0.2], "interval": 0.2, "kappa": 0.5, "largest": 2.0, "law": maxnet.PAPER, "least": 1.0,
    "level": 1.0, "limit": 5, "link": rcp.Link(), "links": 2, "load": 0.5, "loss": 0.1, "losses": 0.1, "lost": 0.1,
    "lost_per_flow": 1.5, "matrices": [MATRIX, MATRIX], "matrix": MATRIX, "mean_size": 1e4, "most": 100,
    "moves": [[0.9, 0.1], [0.3, 0.7]], "mu": 0.9, "nacks": 0.1, "network": PATHS, "off": 0.08, "omega": 0.5,
    "on": 0.02, "packets": 10.0, "phi": 1.0, "pipe": 100.0, "places": 4, "price": 0.1, "prices": [1.0, 2.0],
    "queue": 1.0, "random": np.random.default_rng(1), "rate": 1.0, "rates": [0.5, 0.5], "ratio": 0.5,
    "rng": np.random.default_rng(1), "rounds": 3,
    "rules": LEVELFLOW, "pace": [1, 2], "routes": ROUTES, "rtpd": 0.1, "rtt": 0.1, "rtts": 0.1, "s": 1j,
    "scale": 0.4, "scenario": SCENARIO, "seed": 1, "settings": SETTINGS, "share": 0.5, "shares": [0.5, 0.4],
    "size": 3, "slope": 0.1, "sources": 3, "spread": 1.5, "start": [1.0, 1.0], "starts": [0.0, 1.0], "step": 0.1,
    "steps": 3, "survival": 1.0, "target": 0.9, "targets": [1.0, 2.0], "tau": 0.5,
    "pause": True, "times": [0.0, 1.0],
    "nacked": 0.1, "tolerance": 1e-9, "users": ks.Users(), "utilisation": 0.9, "value": 1.0, "weight": 1.0,
    "weights": 1.0, "windows": 10.0, "within": 1.0, "x": 1.0, "zero": 0.1, "sizes": [1.0, 2.0], "text": "1 s",
    "sender": lambda rate, *_: rate, "router": lambda load, memory: (load, memory), "values": [1.0, 2.0],
    "levels": [1.0, 2.0], "fall": 0.5,
}  # fmt: skip

CROSSED = fluid_law.Crossings(np.array([0]), np.array([0]), np.array([0]), np.array([True]))
NET = fluid_ks.random_network(2, 3, seed=1)
#: Values of parameters of one function or one module, by its name after `levelflow.theory.`.
OWN = {
    "zhang_models.adaptive_buffer.size": {"state": adaptive_buffer.start(SETTINGS, 20.0)},
    "zhang_models.adaptive_buffer.update": {"state": adaptive_buffer.start(SETTINGS, 20.0)},
    "zhang_models.adaptive_buffer.start": {"buffer": 20.0},
    "zhang_models.adaptive_buffer.run": {"plant": adaptive_buffer.Plant()},
    "networks.membership.networks": {"pace": [1, 2, 3]},
    "networks.membership.read_pace": {"flows": 2},
    "networks.assignment.settle": {"rates_on": lambda link, flows, rest: np.ones(len(flows))},
    "networks.assignment.random_routes": {"shortest": 1, "longest": 2},
    "networks.assignment.jacobian": {"pace": [1, 2], "own": [0.5] * 4, "among": [0.1] * 4, "others": [0.1] * 4},
    "networks.assignment.spectrum": {"matrix": np.eye(4)},
    "networks.assignment.spectral_radius": {"matrix": np.eye(4)},
    "queues.buffers.largest_gain": {"slope": 0.01},
    "stability.delay_batches": {"delays": [[[1, 2]], [[2, 1]]], "longest": 3},
    "stability.delay_batches.experiment": {"size": 2},
    "stability.delays.read_delays": {"size": 2},
    "stability.equations.integrate": {"change": lambda t, x, past: -x},
    "stability.equations.iterate": {"update": lambda n, past: past(1) / 2, "longest": 1},
    "laws.ks.equilibrium": {"capacities": [1.0, 2.0], "weights": 1.0, "levels": [0.5, 1.0]},
    "networks.filling.fill": {
        "crossings": read_crossings(ROUTES, 2),
        "loads": np.ones(3),
        "level": lambda rising, taken: 1 / rising,
    },
    "fluid.law.need_routers": {"law": "jetmax", "path": CROSSED, "names": ["a"]},
    "fluid.topology.read_parameters": {"name": "x", "given": {}, "defaults": {}, "only": {}},
    "kunniyur_models.fluid": {"network": NET, "start": np.ones(3)},
    "kunniyur_models.fluid.random_network": {"users": 2, "batch": (2,), "exponents": (0.0, 1.0), "control": "rate"},
    "kunniyur_models.fluid.run_adaptive": {"levels": None},
    "fluid.run.simulate": {
        "network": fluid_network.Network([fluid_network.Link(1e6)], [fluid_network.Flow("jetmax", [0], 0.1)]),
        "step": 0.01,
        "every": 0.1,
    },
    "laws.aimd.step": {"rates": np.array([2.0, 6.0])},
    "fluid.law.reached": {"rate": np.array([1.0, 2.0])},
    "laws.emkc.aggregate": {"step": [0, 1], "start": 1.0, "limit": 2.0},
    "laws.emkc.lemma_14": {"start": 1.0},
    "laws.emkc_avq.iterate": {"gains": (0.1, 0.5, 0.2)},
    "networks.fairness.steps_to_fairness": {"step": lambda x: (x + x.mean()) / 2, "start": [0.0, 1.0], "most": 100},
    "laws.jetmax.steps": {"start": 1.0},
    "laws.level.iterate": {"levels": 1.0, "thresholds": 1.0},
    "laws.kelly.alone": {"start": 1.0},
    "laws.kelly.iterate": {"price": lambda load: 0.1 * load},
    "laws.ks.rate_change": {"acks": None},
    "laws.ks.utility_exponent": {"loss_exponent": 0.5},
    "laws.shared.maxnet_model": {"state": 0.0},
    "andrew_models.maxnet_fluid.run": {
        "network": maxnet_fluid.Network([[0], [0]], [10e6], [0.1, 0.2]),
        "step": 0.01,
        "start": maxnet_fluid.Start(),
    },
    "laws.shared.maxnet_stability.network_roots": {
        "point": maxnet.fixed_point([[0], [0]], [10e6]),
        "delays": [0.1, 0.2],
    },
    "laws.shared.mkc.iterate": {"price": lambda load: 0.1 * load},
    "laws.shared.mkc.fixed_point": {"price": lambda load: 1 - 10 / load},
    "zhang_models.mkc_network": {"capacities": [1.0, 2.0, 3.0], "alpha_over_beta": 0.5, "rates": [0.5] * 4},
    "zhang_models.mkc_network.iterate": {
        "network": paths.paths([[0, 1], [1], [1, 2], [2]], 3, 2, 1),
        "start": [1.0] * 4,
    },
    "networks.paths.paths": {"forward": 0},
    "networks.paths.scattered": {"longest": 3},
    "laws.abc.stable": {"delta": 0.133, "rtt": 0.1},
    "laws.rcp.fluid": {"start": (1.0, 0.0), "duration": 1.0},
    "networks.paths.run": {
        "sender": lambda before, *_: before,
        "router": lambda received, memory: (received.sum(axis=0), memory),
    },
    "laws.rcp.settles_from_anywhere": {"duration": 1.0},
    "laws.rcp.settles": {"run": rcp.fluid((0.5, 0.5), (1.0, 0.0), rcp.Link(), duration=1.0)},
    "zhang_models.vinnicombe": {"law": importlib.import_module("zhang_models.vinnicombe").DEFAULTS, "delay": 0.1},
    "zhang_models.vinnicombe.follow": {"law": lambda x, before, eta, d: -x, "link": (1.0, 10.0)},
    "zhang_models.ying": {"law": importlib.import_module("zhang_models.ying").DEFAULTS},
    "zhang_models.loss.queue": {"arrivals": interrupted_bernoulli(2, 0.02, 0.2)},
    "zhang_models.loss.loss_from_unlimited": {"arrivals": interrupted_bernoulli(2, 0.02, 0.2), "buffer": 4},
    "zhang_models.markov.evolve": {"law": [0.5, 0.5]},
    "queues.marking.marking_levels": {"beta": 50.0},
    "queues.marking.alone_on_a_link": {"start": 8.0},
    "stability.matrices.decouple": {
        "matrix": np.eye(2),
        "parts": [np.array([0]), np.array([1])],
        "weights": np.ones(2),
    },
    "stability.matrices.norm": {"order": 2, "weights": [1.0, 2.0]},
    "stability.matrices.scaled": {"weights": [1.0, 2.0]},
    "stability.matrices.read_matrices": {"dimensions": 3},
    "stability.matrix_classes.random_member": {"name": "N"},
    "zhang_models.overshoot.integrate_excess": {"law": ScalableTcp(100.0, 10.0)},
    "zhang_models.overshoot.immediate_aimd": {"step": 1.0, "keep": 0.5},
    "pictures.convergence": {"equilibrium": [1.0, 2.0], "rates": np.ones((3, 2))},
    "pictures.convergence.phase_plane": {"step": lambda x: x / 2, "starts": [[1.0, 2.0]], "steps": 3},
    "pictures.convergence.kelly_delays": {"delays": [1, 2]},
    "zhang_models.buffer_pictures.loss_against_buffer": {"flows": 2, "capacity": 20},
    "pictures.norms": {"experiment": delay_batches.experiment(1, 3), "delays": [1, 2], "longest": 3},
    "pictures.phase": {"x": np.ones((2, 1)), "y": np.ones((2, 1)), "equilibrium": (0.0, 0.0), "labels": ("x", "y")},
    "stability.quasi": {
        "what": "h",
        "function": quasi.QuasiPolynomial([([1, 1], 0.0)]),
        "piece": quasi.Piece(0j, 0.0, 0.0, 1.0),
    },
    "stability.quasi.turns": {"cuts": np.array([0.0, 1.0])},
    "laws.emkc_avq.region": {"delays": (2,)},
    "references.model": {"law": "reno"},
    "units.ratio": {"text": "2 %"},
    "units.room": {"buffer": "5 packets", "packet": 1000.0},
    "stability.scaled_norm.lower_bound": {},
    "queues.sharing": {"size": 1e4, "load": 0.5},
    "queues.sharing.completion_times": {"delays": 0.0},
    "networks.utility.optimum_of": {"marginal": lambda x: 1 / x**2, "costs": 0.0},
    "laws": {"capability": "fluid", "law": "jetmax"},
    "verdict.times_larger": {"what": "alpha", "margin": 2.0},
    "zhang_models.windows": {"windows": windows.Windows(2, 8, 4)},
}

#: Terms that replace the argument's name in error lines: a word for the content, or the model's term.
CALLED = {
    "routes": ("flow", "link", "rate", "start"),
    "targets": ("capacity", "link", "memory"),
    "capacities": ("capacity", "link", "alpha_over_beta"),
    "bottlenecks": ("link",),
    "exponents": ("users",),
    "beta": ("users",),
    "prices": ("link",),
    "users": ("weight",),
    "gains": ("alpha", "beta", "kappa", "omega"),
    "start": ("rate", "window", "state", "memory", "queue", "delay"),
    "hops": ("links", "shortest"),
    "shortest": ("links",),
    "longest": ("links",),
    "largest": ("range",),
    "levels": ("capacity", "capacities", "link"),
    "first": ("memory",),
    "alpha": ("gain",),
    "scale": ("t/tau",),
    "tolerance": ("settle",),
    "rates": ("delay", "gain"),
    "starts": ("rate", "size"),
    "link": ("capacity", "buffer"),
    "places": ("buffer",),
    "moves": ("probabilities",),
    "dimensions": ("matrices", "matrix"),
    "matrices": ("matrix",),
    "weights": ("scaling",),
    "dual": ("matrix", "matrices"),
    "rounds": ("steps",),
    "active": ("weight",),
    "at": ("time",),
    "text": ("time", "quantity", "share"),
    "load": ("room",),
    "delays": ("coefficients",),
    "law": ("model",),
    "price": ("numbers",),
    "most": ("steps",),
    "of": ("norm",),
    "rtts": ("rtt",),
    "unresponsive": ("foreign",),
    "buffer": ("text", "quantity"),
}

#: Types of arguments that other functions create. Tests omit these arguments.
MADE = (
    "Floats",
    "Sequence[Ints]",
    "Sequence[str]",
    "Mapping",
    "Parameters",
    "FixedPoint",
    "Ints, Ints",
    "Literal['gain",
    "Ints",
    "Matrix",
    "Callable",
    "bool",
    "dict",
    "Users",
    "Generator",
    "DataFrame",
)
TOUCHED = ("ArrayLike", "Numbers", "float", "int", "str", "Routes", "Literal", "Control", "Sequence[", "tuple[")
GARBAGE = [
    np.nan,
    np.inf,
    -1.0,
    0.5,
    0,
    None,
    [],
    [[]],
    np.ones((2, 3)),
    np.ones((3, 1, 2)),
    [1.0] * 7,
    "x",
    ["x"],
    [np.nan, 1.0],
    {},
]
ROUTED = [None, [], {}, [[]], [[5]], [[-1]], [[0.5]], [["x"]], 3, np.nan, "x", [0, 1]]


def functions():
    """Yields the public functions with their names. The functions of `validate` have separate tests."""
    found = [*pkgutil.walk_packages(theory.__path__, "levelflow.theory.")]
    for models in (andrew_models, kunniyur_models, zhang_models):
        found += pkgutil.walk_packages(models.__path__, f"{models.__name__}.")
    for module in found:
        if module.name.endswith((".validate", ".buffer_rows")):
            continue
        # Functions that draw on given axes are called by a picture, which has checked their input. Functions that
        # declare a parameter belong to a law.
        for name, function in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isfunction(function)
                and function.__module__ == module.name
                and not name.startswith(("_", "draw_"))
                and not str(function.__annotations__.get("return")).startswith("Parameter[")
            ):
                yield f"{module.name.removeprefix('levelflow.theory.')}.{name}", function


FUNCTIONS = dict(functions())


#: Arguments that are only displayed in a line or a picture.
LABELS = ("what", "name", "names", "title", "labels")


def touched(parameter):
    kind = str(parameter.annotation)
    return (
        parameter.name not in LABELS
        and any(word in kind for word in TOUCHED)
        and not any(word in kind for word in MADE)
    )


def valid(name, function):
    """Returns the arguments of a valid call, by name."""
    own = USUAL | OWN.get(name.rpartition(".")[0], {}) | OWN.get(name, {})
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in OWN.get(name, {}) or parameter.default is parameter.empty:
            assert parameter.name in own, f"{name}: add a valid {parameter.name} to the table"
            found[parameter.name] = own[parameter.name]
    return found


def holds_nan(answer):
    if isinstance(answer, np.ndarray | np.generic | float | complex):
        return bool(np.isnan(answer).any()) if np.asarray(answer).dtype.kind in "fc" else False
    if isinstance(answer, dict):
        return holds_nan(list(answer.values()))
    if isinstance(answer, tuple | list):
        return any(map(holds_nan, answer))
    if dataclasses.is_dataclass(answer):
        return any(holds_nan(getattr(answer, field.name)) for field in dataclasses.fields(answer))
    return False


def bad_for(value, name):
    if name == "routes":
        return ROUTED
    parts = range(len(value)) if isinstance(value, tuple | list) else ()
    return GARBAGE + [[*value[:k], bad, *value[k + 1 :]] for bad in GARBAGE[:4] for k in parts]


def complaint(function, arguments, parameter, bad, *, undefined):
    """Returns the error in a function's reaction to invalid input, or an empty text."""
    try:
        answer = function(**arguments | {parameter.name: bad})
    except TheoryError as error:
        text = str(error)
        if len(text) > 300 or len(text.splitlines()) != 1:
            return f"not one line: {text}"
        return "" if names(text, parameter.name) else f"does not name it: {text}"
    except Exception as error:
        return f"{type(error).__name__} {error}"
    return f"answers {answer!r}"[:300] if not undefined and holds_nan(answer) and "nan" not in repr(bad) else ""


def names(text, name):
    """Returns True if a line identifies its argument by name, by content, or by the name of a similar argument."""
    called = {name[:4].lower(), *(part[:4] for part in name.split("_") if len(part) > 2), *CALLED.get(name, ())}
    return any(word in text.lower() for word in called)


CHECKED = [name for name, f in FUNCTIONS.items() if any(map(touched, inspect.signature(f).parameters.values()))]


@pytest.mark.parametrize("name", CHECKED)
def test_garbage_in_any_argument_gets_an_answer_or_one_line(name):
    function = FUNCTIONS[name]
    arguments = valid(name, function)
    undefined = holds_nan(function(**arguments))  # NaN marks results that a model does not determine
    wrong = []
    for parameter in filter(touched, inspect.signature(function).parameters.values()):
        for bad in bad_for(arguments.get(parameter.name, parameter.default), parameter.name):
            found = complaint(function, arguments, parameter, bad, undefined=undefined)
            wrong += [f"{parameter.name} = {bad!r}: {found}"] if found else []
    assert not wrong, "\n".join(wrong)
