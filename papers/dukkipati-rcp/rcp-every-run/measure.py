"""No run of the other figures drops a packet, and no flow is faster than light and line allow."""

from levelflow.claims.traffic import LINK, SETTINGS
from levelflow.theory.sharing import ROUND_TRIPS


def measure(figure):
    scenarios = {name: setting.scenarios(figure)[0] for name, setting in SETTINGS.items()}
    results = figure.runs(list(scenarios.values()))
    plans = [SETTINGS[name].plan for name in scenarios]
    return {
        "rcp-no-drops": [[loss(result) for result in results], None, None],
        "rcp-afct-lower-bound": [[slack(r, plan) for r, plan in zip(results, plans, strict=True)]],
    }


def loss(result):
    """Dropped over arrived packets at the link."""
    (link,) = (link for link in result.summary["links"] if link["name"] == LINK)
    return link["dropped_packets"] / link["arrived_packets"]


def slack(result, plan):
    """Least difference of a completion time and the bound 1.5 RTPD + L/C, s."""
    rows = result.completions
    return (rows["fct_s"] - ROUND_TRIPS * rows["rtt_s"] - 8 * rows["bytes"] / plan.capacity).min()


def plot(figure, canvas):
    axes = canvas.subplots()
    axes.barh(list(SETTINGS), [loss(result) for result in figure.results])
    axes.set(xlabel="dropped / arrived packets")
