"""Link labels: spellings of the Topology Zoo, and similar spellings."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from levelflow.topology.labels import read, speed

#: Rates in Mb/s, and labels with this rate. Labels up to the empty line are from maps of the Topology Zoo.
NAMED = {
    0.0096: ["9600 bit/s", "9.6 kbps", "9600 bps"],
    0.02: ["0.02M", "20 kb/s"],
    0.064: ["64 Kbit/s", "64 Kbps", "64k", "64 kbit"],
    0.128: ["128 Kbps"],
    0.5: ["0.5 M", "0,5 Mbit/s"],
    1.544: ["T1", "ANS CO+RE T1", "T-1", "DS1", "1,544 Mbit/s"],
    2: ["2 MB/s", "2 Mb/s SHDSL", "2 Mbit/s (Gamtel Backbone)", "Megastream 2Mbps", "2M", "2Mb/s"],
    2.048: ["E1", "E-1", "2,048 Mbit/s"],
    4: ["wireless link 4 Mbps", "4Mb/s"],
    8: ["4*2 Mbps PDH", "8M", "8 Mbit/s"],
    10: ["LES 10 Mbps", "10 Mb/s", "10M", "10 Mbit Ethernet"],
    24: ["24 Mb/s + Satellite", "24 MB/s"],
    34: ["34 Mbps PDH", "34 Mb/s Internet", "34mb/s", "34 Mbps Radio", "Microwave 34 Mbps ATM"],
    34.368: ["E3", "34,368 Mbit/s"],
    40: ["40Mpbs", "40mb/s"],
    44.736: ["internetMCI T3", "DS3", "T3", "DS-3"],
    45: ["45 Mbps DS-3", "45 Mbps ATM", "45M"],
    68: ["2 x E3 (68Mbps)", "68M", "2 x 34 Mbit/s"],
    100: ["ZAMREN FIBRE (100 MB)", "LES/EES/WSES 100 Mbps", "100M", "Fast Ethernet", "100BASE-TX", "FE"],
    155: [
        "155 Mbps OC-3",
        "155 Mbps LES",
        "opticallaserconnection 155 Mbps",
        "LES 155 Mbps ATM",
        "155M",
        "SDH 155Mbps",
    ],
    155.52: ["STM-1", "IPLC STM-1", "STM1", "oc-3c", "155,52 Mbit/s"],
    311.04: ["2xSTM-1", "2 x OC-3c"],
    465: ["3*155M", "3 x 155 Mbps"],
    620: ["4x155Mbps"],
    622: ["622 Mbps OC-12", "622 Mbit/s", "622M", "622Mbit/s (STM-4)"],
    622.08: ["OC12/STM4", "STM-4", "OC-12"],
    1000: [
        *("1GE Primary Link", "1Gb/s Ethernet", "GE", "GigE", "SMfiber/1Gbps (dashed)", "dark fibre 1 Gb/s", "1 GB/s"),
        *("Conexion G-REUNA 1 Gbps", "Peering, 1 Gbps", "1gb/s", "Dark Fiber (1Gbps)", "WaveStream 1 Gbps", "1G"),
        *("Gigabit Ethernet", "GbE", "1,000 Mbps", "1000 Mbps", "1000BASE-T", "1 Gigabit/s", "WaveStream-2 1Gbps"),
    ],
    1244.16: ["STM-4x2", "2 x STM-4"],
    1866: ["3 x 622Mbps"],
    2488.32: ["OC48/STM16", "POS OC-48", "STM-16", "OC-48", "STM 16"],
    2500: ["DTP-Ring 2.5 Gbit/s", "2.5 G", "CSTNet 2.5 Gbit/s", "2,5 Gbit/s", "2.5-Gbps", "STM-16 (2.5 Gbps)"],
    8000: ["8*GbE", "8xGE", "1 GByte/s"],
    9953.28: ["OC192/STM64", "OC-192 (Future)", "OC-192c", "STM-64"],
    10_000: [
        *("10 GB/s - redundantno", "10 GE", "10G Ethernet", "10GE", "10Gb/s (planning)", "AARNet  10Gbit/s"),
        *(
            "I2  10Gbit/s",
            "JGN2  10Gbit/s",
            "CANARIE (Provided by NLR)  10Gbit/s",
            "Lit Fibre (10 Gbps)",
            "10 Gbps SDH",
        ),
        *("Fibre ottica spenta (Dark Fibre), 10 Gbps", "10 Gigabit Ethernet", "10-Gigabit Ethernet", "10GbE", "~10G"),
        *(
            "Ten Gigabit Ethernet",
            "10GBASE-LR",
            "10,000 Mbps",
            "10 Gbps 40 km",
            "TAT-14 10G",
            "10G (OC-192)",
            "10G,10G",
        ),
    ],
    20_000: ["2x10Gb/s", "2 x 10G", "10G x 2", "10 Gbps (2x)", "dual 10G", "2 \u00d7 10 GbE", "(2x10G)"],
    39_813.12: ["STM-64x4", "4 x STM-64", "OC-768"],
    40_000: ["4*10Gb/s", "10GEx4", "2x2x10G"],
    100_000: ["10*10Gb/s", "100GE", "100G coherent"],
    120_000: ["10GEx12", "10Gex12"],
}
#: Labels without a definite rate: ranges, bounds, several rates, unknown multiples. The first labels are from the Zoo.
DOUBTFUL = [
    *("1G,10G", "34Mbps,2Mbps", "STM-1,2.5 Gbps", "E1,10G", "fibre,1G,10G", "1,2,5 Gbps"),
    *("1-10Gbps", "1-2.5 Gb/s", "1-20Gbps", "1-4.999Gbps", "10-20Gbps", "10-33Mbps", "10-34 Mb/s", "100-155 Mbit/s"),
    *("155-599Mbps", "2-34 Mbit/s", "34-69Mbps", "5-10Gbps", "70-154Mbps", "300M-1Gb/s", "Dark Fiber (1-10Gbps)"),
    *("International Connectivity (1-10 Gbps)", "34/45 Mbit/s", "45/155 Mbps", "155Mbs/1Gbps", "GigE/FE/ATM"),
    *("Managed Fiber (10Gbps, 100Mbps)", "4x1 Gbps + 2x STM-1", "< 1 Gbps", "< 2.5 Gbps", "<45Mb", "<= 10 Mbps backup"),
    *(">10Gbps", "less than 100 Mbps", "100 Mbps and more", "OC3 and below/STM1", "CANARIE N*10Gbit/s"),
    *("N*10Gbit/s", "n x 10G", "Nx2.5G", "10GxN", "nxT1", "NxE1", "k x 10G", "several 10G", "multiple 10 Gbps"),
    *(
        "> 1G",
        ">= 1G",
        "\u2265 10 Gbps",
        "at least 10G",
        "up to 10 Gbps",
        "max. 10 Gbps",
        "10G max",
        "10G+",
        "10+ Gbps",
    ),
    *("10 Gbps or more", "over 10 Gbps", "more than 1 Gbps", "bis zu 10 Gbit/s", "min 2M", "from 2M", "10G and above"),
    *(
        "10/100 Mbps",
        "10/100BASE-T",
        "1 to 10 Gbps",
        "1..10 Gbps",
        "1 - 10 Gbps",
        "1\u201310 Gbps",
        "1G-10G",
        "10, 40G",
    ),
    *("1 or 10 Gbps", "10G/40G", "1G and 10G", "10 & 100 Mbps", "1/10/40 Gbps", "STM-1/4/16", "OC-3 - OC-12", "T1/E1"),
    *("10G + 1G", "1+1 10G", "20/5 Mbps", "20M down 5M up", "2-4x10G", "10G x 2-4", "1.5 x 10G", "10G per lambda"),
    *("10G/lambda", "10G each", "1/2 STM-1", "half STM-1", "fractional T3", "50% of 155 Mbps", "40 lambdas x 10G"),
    *("1,250 Mbps", "0 Mbps", "0x10G", "10G \u00b1 1", "Level 3 10G"),
]
#: Labels without a rate, from the Zoo and a few other sources.
NOTHING = [
    *("", "Fibre", "72 Lambda ROADM Network", "1Q 2003", "TAT-14", "SeaMeWe-3", "Completion 2007-2008", "Ethernet"),
    *("ATM", "Adria-1", "WANPHY", "Back-up link via KCN2", "International connectivity to GEANT2", "Dark Fiber", "SDH"),
    *("100 km", "1550 nm", "50 GHz", "10 m copper", "1000000000", "STM-N", "10", "MPLS", "Green Link (No label)"),
]


@pytest.mark.parametrize(("rate", "label"), [(rate, label) for rate, labels in NAMED.items() for label in labels])
def test_a_label_that_names_one_rate_is_that_rate(rate, label):
    assert speed(label) == pytest.approx(rate * 1e6, rel=1e-12)


@pytest.mark.parametrize("label", DOUBTFUL)
def test_a_label_that_names_no_single_rate_is_none_and_doubtful(label):
    assert read(label) == (None, True)


@pytest.mark.parametrize("label", NOTHING)
def test_a_label_without_a_rate_is_none(label):
    assert read(label) == (None, False)


numbers = st.sampled_from(["1", "2.5", "10", "155", "34.4", "100"])
units = st.sampled_from([" Gbps", "G", " Mbit/s", "Mb/s", "M", " kb/s"])
SEPARATORS = ["-", " - ", "/", " to ", "..", ", ", " or ", "\u2013", " & "]


@given(number=numbers, other=numbers, unit=units, separator=st.sampled_from(SEPARATORS), count=st.integers(1, 99))
def test_multiples_multiply_and_ranges_name_none(number, other, unit, separator, count):
    one = speed(f"{number}{unit}")
    assert one
    for label in (f"{count}x{number}{unit}", f"{count} x {number}{unit}", f"{count}*{number}{unit}"):
        assert math.isclose(speed(label), count * one), label
        assert math.isclose(speed(f"Backbone ({label})"), count * one), label
    for label in (f"{number}{unit}x{count}", f"{number}{unit} x {count}"):
        assert math.isclose(speed(label), count * one), label
    assert speed(f"{other}{separator}{number}{unit}") is None
    for bound in ("<", "> ", ">= ", "up to ", "at least ", "N x ", "n*"):
        assert speed(f"{bound}{number}{unit}") is None, bound
    assert math.isclose(speed(f"{number}{unit}".replace(".", ",")), one)


@given(st.text(alphabet="0123456789.,xX*/-+<> GMkTbBitps()OCESTMNn", max_size=24))
def test_any_label_is_a_positive_rate_or_none(label):
    rate, doubtful = read(label)
    assert (rate is None) or (0 < rate < math.inf and not doubtful)
