"""Figure 1: only what processor sharing would give; TCP and XCP are compared with it."""

import numpy as np

from levelflow.claims.traffic import PACKET, OneLink
from levelflow.theory.sharing import fct_processor_sharing

PLAN = OneLink(2.4e9, 0.1, 0.9, 30, shape=1.4)


def measure(figure):
    return {"rcp-fig1": [None, None, None, PLAN.active]}


def plot(figure, canvas):
    axes = canvas.subplots()
    packets = np.geomspace(1, 1e5, 100)
    axes.loglog(packets, fct_processor_sharing(PLAN.rtpd, packets * PACKET, PLAN.capacity, PLAN.load), "k--")
    axes.set(xlabel="flow size (packets)", ylabel="completion time (s)", title="Processor sharing")
