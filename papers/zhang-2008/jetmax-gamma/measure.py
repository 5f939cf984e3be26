from levelflow.measure import queues
from levelflow.measure.series import steady
from levelflow.reproduce.verdict import Against

C = 20e6  # bit/s
GAMMAS = (0.5, 0.8, 0.9, 0.94, 1.0)
TWO_LINKS = {"R1->R2": 0.9, "R2->R3": 0.8}


def one_link(gamma):
    """Removes all but the first link and the flow that crosses only this link."""

    def edit(scenario):
        scenario.raw["link"] = scenario.raw["link"][:1]
        scenario.raw["flow"] = [flow for flow in scenario.raw["flow"] if flow["name"] == "y"]
        scenario.set("link.1.law.jetmax.gamma", gamma)

    return edit


def measure(figure):
    window = steady(0.0, 30.0)
    both, *alone = figure.runs([figure.scenario(), *(figure.scenario(one_link(gamma)) for gamma in GAMMAS)])
    filled = [queues.utilisation(run.links, "R1->R2", C, window)[0] for run in alone]
    filled += [queues.utilisation(both.links, link, C, window)[0] for link in TWO_LINKS]
    return {"gamma-tunable": {"throughput_over_C": Against(filled, [*GAMMAS, *TWO_LINKS.values()])}}
