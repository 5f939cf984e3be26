import networkx as nx
import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from levelflow.theory.errors import ParameterError
from levelflow.theory.networks.assignment import (
    AssignmentError,
    InconsistentError,
    assign,
    bottleneck_sets,
    jacobian,
    jetmax_jacobian,
    random_assignment,
    random_consistent,
    random_routes,
    spectral_radius,
    spectrum,
)
from levelflow.theory.networks.maxmin import bottlenecks, maxmin, unfairness
from levelflow.theory.networks.routes import CapacityError, RouteError
from levelflow.theory.pictures.graphs import dependency_graph

FIG_30 = assign([[0, 1], [1], [1, 2], [2]], [0, 1, 1, 2])
#: Flows at link 0 disturb the flow at link 1, and vice versa.
CIRCLE = assign([[0, 1], [0, 1], [0, 1]], [0, 0, 1])


@st.composite
def networks(draw, links=12, flows=40):
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    links = draw(st.integers(1, links))
    longest = draw(st.integers(1, min(links, 5)))
    routes = random_routes(random, draw(st.integers(1, flows)), links, 1, longest)
    return random, routes, random.uniform(0.1, 100, links)


@examples(200)
@given(networks(links=200, flows=200))
def test_flows_have_a_bottleneck_exactly_at_max_min_rates(network):
    random, routes, capacities = network
    rates = maxmin(routes, capacities)
    sets = bottleneck_sets(routes, capacities, rates)
    assert all(limit in own for limit, own in zip(bottlenecks(routes, capacities), sets, strict=True))
    loser = random.integers(len(routes))
    rates[loser] *= random.uniform(0.01, 0.99)
    sets = bottleneck_sets(routes, capacities, rates)
    lacking = unfairness(routes, capacities, rates) > 1e-9
    assert lacking[loser]
    assert lacking.tolist() == [not own for own in sets]


def test_bottlenecks_are_the_full_links_on_which_no_flow_has_a_larger_rate():
    assert bottleneck_sets([[0, 1], [0, 2], [1, 0]], [6, 4, 2], [2, 2, 2]) == [[0, 1], [0, 2], [0, 1]]
    assert bottleneck_sets([[0], [0]], [8], [2, 6], weights=[1, 3]) == [[0], [0]]
    assert bottleneck_sets([[0], [0]], [8], [2, 6]) == [[], [0]]
    assert bottleneck_sets([[0]], [0], [0]) == [[0]]


@examples(200)
@given(networks())
def test_a_common_order_of_links_makes_a_consistent_assignment(network):
    random, routes, capacities = network
    for found in (random_consistent(random, routes), assign(routes, bottlenecks(routes, capacities), len(capacities))):
        assert found.consistent
        assert found.cycle() is None
        assert nx.is_directed_acyclic_graph(found.graph())
        order = [link for link, _ in found.subsystems()]
        assert sorted(order) == found.links
        waits_for = {link: {found.bottlenecks[flow] for flow in found.unresponsive(link)} for link in order}
        assert all(waits_for[link] <= set(order[:turn]) for turn, link in enumerate(order))
        assert all(found.unresponsive(link).size == 0 for link in found.layers()[0])  # lemma 18


@examples(200)
@given(networks())
def test_an_inconsistent_assignment_is_shown_by_a_circle_of_flows(network):
    random, routes, _ = network
    found = random_assignment(random, routes)
    circle = found.cycle()
    assert found.consistent == nx.is_directed_acyclic_graph(found.graph()) == (circle is None)
    if circle is not None:
        assert all(
            found.dependencies[flow, before] for before, flow in zip(circle, [*circle[1:], circle[0]], strict=True)
        )
        with pytest.raises(InconsistentError, match="disturb each other in a circle; needs a consistent assignment"):
            found.layers()


def test_figure_30_of_the_dissertation():
    assert list(FIG_30.graph().edges) == [(0, 1), (0, 2), (2, 3)]
    assert FIG_30.layers() == [[0], [1], [2]]
    assert FIG_30.responsive(1).tolist() == [1, 2]
    assert FIG_30.unresponsive(1).tolist() == [0]


@examples(100)
@given(networks(), st.floats(0.01, 1.99))
def test_jetmax_is_as_fast_in_a_network_as_on_a_link_if_the_assignment_is_consistent(network, tau):
    random, routes, _ = network
    found = random_consistent(random, routes)
    matrix = jetmax_jacobian(found, tau)
    assert np.abs(spectrum(found, matrix)) == pytest.approx(abs(1 - tau))
    # `rest` is nilpotent, so A^n tends to 0 as fast as |1 - tau|^n times a polynomial in n.
    rest = matrix - (1 - tau) * np.eye(len(routes))
    assert np.abs(np.linalg.matrix_power(rest, len(found.links))).max() < 1e-12


@examples(50)
@given(networks(flows=12))
def test_a_spectrum_has_the_determinant_and_the_trace_of_the_matrix(network):
    random, routes, _ = network
    for found in (random_consistent(random, routes), random_assignment(random, routes)):
        own, among, others = random.normal(size=(3, len(routes)))
        matrix = jacobian(found, own, among, others)
        roots = spectrum(found, matrix)
        assert roots.sum() == pytest.approx(np.trace(matrix), abs=1e-9)
        assert roots.prod() == pytest.approx(np.linalg.det(matrix), rel=1e-6, abs=1e-9)


def test_a_circle_of_flows_can_be_unstable():
    assert spectral_radius(CIRCLE, jetmax_jacobian(CIRCLE, 0.6)) == pytest.approx(1)
    three = assign([[0, 1, 2]] * 3, [0, 1, 2])
    assert spectral_radius(three, jetmax_jacobian(three, 0.7)) == pytest.approx(3 * 0.7 - 1)


def test_routes_are_drawn_over_different_links():
    routes = random_routes(np.random.default_rng(1), 300, 6, 2, 4)
    assert {len(route) for route in routes} == {2, 3, 4} == {len(set(route)) for route in routes}
    assert {link for route in routes for link in route} == set(range(6))


@pytest.mark.parametrize("assignment", [FIG_30, CIRCLE, assign([], []), assign([[0]] * 30 + [[0, 1]], [0] * 30 + [1])])
def test_a_picture_has_a_box_for_each_link_and_arrows_of_two_colours(assignment):
    figure = dependency_graph(assignment)
    figure.canvas.draw()
    boxes = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_boxstyle")]
    arrows = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_arrowstyle")]
    assert len(boxes) == len(assignment.links)
    assert len({tuple(arrow.get_edgecolor()) for arrow in arrows}) <= 1
    assert len(arrows) == {FIG_30: 2, CIRCLE: 3}.get(assignment, len(arrows))


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ("flow 1: link 0 is not on its route", lambda: assign([[0], [1]], [0, 0])),
        ("flow 0: link 5 is not on its route", lambda: assign([[0]], [5])),
        ("flow 0: link -1 is not on its route", lambda: assign([[0]], [-1])),
        ("1 bottlenecks for 2 flows; needs the index of a link for each", lambda: assign([[0], [1]], [0])),
        ("needs the index of a link", lambda: assign([[0]], [0.5])),
        ("needs the index of a link", lambda: assign([[0]], [np.inf])),
        ("rate 0: nan is", lambda: bottleneck_sets([[0]], [1], [np.nan])),
        (r"rate of shape \(2,\)", lambda: bottleneck_sets([[0]], [1], [1, 2])),
        ("rate 0: -1.0 is", lambda: bottleneck_sets([[0]], [1], [-1])),
        ("needs 4 x 4 finite numbers", lambda: spectrum(FIG_30, np.eye(3))),
        ("needs 4 x 4 finite numbers", lambda: spectrum(FIG_30, np.full((4, 4), np.inf))),
        ("flow 0 cannot depend on flow 1, which does not cross", lambda: spectrum(FIG_30, np.ones((4, 4)))),
        ("needs 1 to 2", lambda: random_routes(np.random.default_rng(1), 2, 2, 1, 3)),
    ],
)
def test_invalid_assignments_are_rejected(line, call):
    with pytest.raises((AssignmentError, ParameterError), match=line) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_invalid_networks_are_rejected():
    with pytest.raises(RouteError):
        assign([[0], []], [0, 0])
    with pytest.raises(CapacityError):
        bottleneck_sets([[0]], [-1], [1])
