"""Which laws have a fluid model: all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from levelflow.theory.fluid import bbr, jetmax, kunniyur_srikant, maxnet, mkc, probing, rates, rcp, windows, xcp
from levelflow.theory.fluid import delay_based as delays

if TYPE_CHECKING:
    from levelflow.theory.fluid.law import Law

LAWS: dict[str, type[Law]] = {
    "jetmax": jetmax.JetMax,
    "emkc": mkc.Emkc,
    "emkc_avq": mkc.EmkcAvq,
    "kelly": mkc.Kelly,
    "rcp": rcp.Rcp,
    "maxnet": maxnet.MaxNet,
    "xcp": xcp.Xcp,
    "ks": kunniyur_srikant.KunniyurSrikant,
    "reno": windows.Reno,
    "newreno": windows.NewReno,
    "bic": probing.Bic,
    "cubic": probing.Cubic,
    "highspeed": windows.HighSpeed,
    "scalable": windows.Scalable,
    "htcp": probing.Htcp,
    "westwood": windows.Westwood,
    "lp": delays.Lp,
    "vegas": delays.Vegas,
    "fast": delays.Fast,
    "dctcp": windows.Dctcp,
    "bbr": bbr.Bbr,
    "aimd": rates.Aimd,
    "tfrc": rates.Tfrc,
    "cbr": rates.Cbr,
}
