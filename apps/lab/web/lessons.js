/** Six lessons, each with a prediction, an experiment and a question. A test verifies their statements. */

import { element } from "./dom.js";
import { lost, percent } from "./measures.js";
import { flows, jain, outcome } from "./series.js";
import { format, parse, short } from "./units.js";

/**
 * @import { Drag } from "./controls.js"
 * @import { Field } from "./fields.js"
 * @import { Entry, Result, Scenario } from "./types.js"
 */

/**
 * @typedef {ReturnType<typeof outcome>} Outcome
 * @typedef {object} Lesson
 * @property {string} id
 * @property {string} title
 * @property {"rates" | "queues"} plot the plot that the questions are about
 * @property {boolean} [concealed] true if the plot shows the answer, and so appears after the prediction
 * @property {string} text
 * @property {Scenario} scenario
 * @property {{question: string, options: string[], hints: string[], right: number,
 *   why: string}} predict `hints` has a line for each wrong option
 * @property {(scenario: Scenario) => void} tried makes the change of the question; option `right` then holds
 * @property {(scenario: Scenario) => boolean} reached true once the user has made this change
 * @property {{label: string, value: number, tolerance: number, hint: string}} [check] number that answers the question
 * @property {Drag[]} drag
 * @property {(result: Result) => string} measure
 * @property {string} question
 * @property {string} answer
 * @property {number} speed
 */

/**
 * @param {string} capacity
 * @param {string} delay
 * @param {string} buffer
 */
const wire = (capacity, delay, buffer) => ({ capacity, delay, buffer, duplex: true });

/**
 * Returns a scenario with one link.
 *
 * @param {string} name
 * @param {string} duration
 * @param {ReturnType<typeof wire>} link
 * @param {{name: string, law: string | Entry, count?: number, rtt?: string, start?: string}[]} flow
 * @param {Scenario["law"]} [law]
 */
function line(name, duration, link, flow, law) {
  return {
    name, duration, sample: "50 ms", ...(law ? { law } : {}),
    link: [{ from: "A", to: "B", ...link }],
    flow: flow.map((one) => ({ from: "A", to: "B", ...one })),
  };
}

/** @param {Outcome["flows"]} flows */
const listed = (flows) => flows.map(({ name, rate }) => `${name} ${rate === null ? "–" : format("rate", rate)}`).join(", ");

/**
 * Returns `(largest - smallest) / mean` of the rates of a flow in the last quarter of a run.
 *
 * @param {Result} result
 * @param {number} index
 */
function swing(result, index) {
  const { t, entries } = flows(result);
  const rates = entries[index].rate.flatMap((rate, sample) => (t[sample] > 0.75 * result.now && rate !== null ? [rate] : []));
  const mean = rates.reduce((a, b) => a + b, 0) / rates.length;
  return (Math.max(...rates) - Math.min(...rates)) / mean;
}

/** @type {Lesson[]} */
export const LESSONS = [
  {
    id: "queue",
    plot: "queues",
    title: "What a queue is",
    text: "A sender transmits 8 Mb/s over a link of 10 Mb/s and never changes its rate. A packet that arrives during the transmission of another packet waits in the queue of the link.",
    scenario: line("what a queue is", "10 s", wire("10 Mb/s", "20 ms", "100 packets"), [{ name: "x", law: { cbr: { rate: "8 Mb/s" } } }]),
    predict: {
      question: "You lower the link to 7 Mb/s, a little below the rate of the sender. What happens to the queue?",
      options: [
        "It stays nearly empty: 7 of 8 Mb/s fit.",
        "It grows to a length that depends on the missing capacity, and stays there.",
        "It grows until the buffer is full; then packets are dropped.",
      ],
      hints: ["Compare what arrives with what leaves: 8 Mb/s against 7 Mb/s. Where is the rest after ten seconds?", "A constant rate does not react to the queue. What would stop its growth before the buffer is full?", ""],
      right: 2,
      why: "At 7 Mb/s, each second 1 Mb more arrives than leaves, so the queue grows until the buffer is full. Only drops limit the queue: an eighth of the arriving packets is dropped from then on.",
    },
    tried: (scenario) => { scenario.link[0].capacity = "7 Mb/s"; },
    reached: (scenario) => parse("rate", scenario.link[0].capacity) <= 7e6,
    drag: [{ list: "link", index: 0, key: "capacity", low: 4e6, high: 20e6 }],
    measure: (result) => {
      const { links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}, ${percent(lost(result))} of the packets dropped.`;
    },
    question: "How long does a packet wait in a full buffer of 100 packets of 1000 bytes at 7 Mb/s? Compute it, then read the plot.",
    check: { label: "Delay in ms", value: 114, tolerance: 2, hint: "Divide the bits in the buffer, 100 × 1000 × 8, by the capacity." },
    answer: "100 packets × 8000 bit / 7 Mb/s = 114 ms. The queueing delay is the queue divided by the capacity, so the same buffer adds more delay on a slow link.",
    speed: 1 / 30,
  },
  {
    id: "fairness",
    plot: "rates",
    title: "Fairness",
    text: "Two TCP flows, near and far, share a link. At first both have a round-trip time of 20 ms. Both increase their windows until a packet is lost, then halve them.",
    scenario: line("fairness", "60 s", wire("10 Mb/s", "10 ms", "25 packets"), [
      { name: "near", law: "reno", rtt: "20 ms" }, { name: "far", law: "reno", rtt: "20 ms" },
    ]),
    predict: {
      question: "You move the far host away, so that the far flow has a round-trip time of 80 ms. How do the flows share the link?",
      options: ["Still equally.", "The near flow gets more.", "The far flow gets more: it has more packets in flight."],
      hints: ["How often does each flow increase its window per second?", "", "The far flow has a larger window only if it could grow as fast. How often does it increase its window per second?"],
      right: 1,
      why: "TCP Reno increases its window by a packet per round trip. The near flow has four round trips during one round trip of the far flow, so it recovers faster from each loss.",
    },
    tried: (scenario) => { scenario.flow[1].rtt = "80 ms"; },
    reached: (scenario) => parse("time", scenario.flow[1].rtt) >= 0.08,
    drag: [{ list: "flow", index: 1, key: "rtt", low: 0.02, high: 0.4 }, { list: "all", key: "law" }],
    measure: (result) => {
      const { flows } = outcome(result);
      return `In the last quarter: ${listed(flows)}; Jain's index ${short(jain(flows))} (1 is fair).`;
    },
    question: "Choose JetMax for both flows and drag again. Why does the distance no longer matter?",
    answer: "Routers signal the same fair rate to both flows, and each converges to it. A longer round trip delays the signal, but does not change the rate.",
    speed: 1 / 50,
  },
  {
    id: "delay",
    plot: "rates",
    title: "Why delay breaks controllers",
    text: "Two senders follow classic Kelly control: they increase their rates while the router's price is low and decrease them while it is high. The price that they receive is one round trip old.",
    scenario: line("why delay breaks controllers", "20 s", wire("10 Mb/s", "10 ms", "200 packets"), [
      { name: "x1", law: "kelly", rtt: "40 ms" }, { name: "x2", law: "kelly", rtt: "40 ms", start: "5 s" },
    ], { kelly: { kappa: 0.25, omega: "100 kb/s" } }),
    predict: {
      question: "The round-trip time of both flows rises from 40 to 200 ms; nothing else changes. What happens to the rates?",
      options: ["They converge to the same rates, only later.", "They converge to lower rates.", "They oscillate and never converge."],
      hints: ["How old is the price that a sender corrects? What has changed meanwhile?", "The price depends on the sum of the rates. Do lower rates leave the price unchanged?", ""],
      right: 2,
      why: "A sender corrects an error of one round trip ago, when the state of the router has already changed. Each correction is too late and too strong.",
    },
    tried: (scenario) => { for (const flow of scenario.flow) flow.rtt = "200 ms"; },
    reached: (scenario) => scenario.flow.every(({ rtt }) => parse("time", rtt) >= 0.2),
    drag: [
      { list: "both", key: "rtt", label: "round trip", low: 0.02, high: 0.4 },
      { list: "law", law: "kelly", key: "kappa", low: 0.01, high: 1 },
    ],
    measure: (result) => `In the last quarter the rate of x1 swings by ${percent(swing(result, 0))} of its mean.`,
    question: "Keep 200 ms and make the rates stable again. What is the disadvantage?",
    answer: "A smaller gain kappa makes each correction smaller: 0.05 is stable, but converges to the fair rates much more slowly. Stability depends on the product of gain and delay. Explicit rates that are stable under all delays, such as those of JetMax, avoid this trade-off.",
    speed: 1 / 50,
  },
  {
    id: "buffers",
    plot: "queues",
    title: "Why loss-based control fills buffers",
    text: "A single CUBIC flow has a link of 10 Mb/s and a round-trip time of 40 ms. The buffer holds 50 packets, one bandwidth-delay product.",
    scenario: line("loss fills buffers", "30 s", wire("10 Mb/s", "20 ms", "50 packets"), [{ name: "x", law: "cubic" }]),
    predict: {
      question: "You make the buffer four times as large. What happens to the queueing delay?",
      options: ["It hardly changes: the link is as fast as before.", "It becomes about four times as long.", "It becomes shorter, because fewer packets are lost."],
      hints: ["The link is as fast as before, but when does CUBIC lose a packet?", "", "CUBIC grows until it loses a packet. How many packets wait at that moment?"],
      right: 1,
      why: "CUBIC reacts only to losses, and packets are lost only when the buffer is full. So it fills a buffer of any size: this is bufferbloat.",
    },
    tried: (scenario) => { scenario.link[0].buffer = "200 packets"; },
    reached: (scenario) => parse("packets", scenario.link[0].buffer) >= 200,
    drag: [{ list: "link", index: 0, key: "buffer", low: 5, high: 1000 }],
    measure: (result) => {
      const { links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}; ${percent(result.summary?.links[0].utilisation)} of the link used, ${percent(lost(result))} of the packets dropped.`;
    },
    question: "Find the largest buffer with a queueing delay of at most 20 ms. How much utilisation is lost?",
    check: { label: "Buffer in packets", value: 26, tolerance: 0, hint: "A link of 10 Mb/s sends a packet of 8000 bit in 0.8 ms. The last packet in a full buffer waits for all others." },
    answer: "The link sends 25 packets in 20 ms (25 × 8000 bit / 10 Mb/s). In a full buffer of 26 packets, the last packet waits for the other 25. CUBIC still uses 99 % of the link; with 5 packets, 89 %. Most of a large buffer only adds delay.",
    speed: 1 / 40,
  },
  {
    id: "explicit",
    plot: "queues",
    title: "Explicit rates",
    text: "Here routers do not wait for losses: each router signals to senders the fair rate of a flow on its link (JetMax). At first there is one flow; after 8 s others join it.",
    scenario: line("explicit rates", "20 s", wire("10 Mb/s", "20 ms", "100 packets"), [
      { name: "first", law: "jetmax" }, { name: "others", law: "jetmax", count: 2, start: "8 s" },
    ]),
    predict: {
      question: "Five flows join the first one at the same moment. How long is the queue?",
      options: ["The buffer fills (80 ms), packets are dropped.", "About half full (40 ms).", "A few packets (below 10 ms)."],
      hints: ["Do these senders need a loss to slow down?", "Who computes the rate: the senders, by trial, or the router, before they send?", ""],
      right: 2,
      why: "New flows start slowly. The router sums the requested rates, and signals a rate that fits the link before the flows increase theirs.",
    },
    tried: (scenario) => { scenario.flow[1].count = 5; },
    reached: (scenario) => Number(scenario.flow[1].count) >= 5,
    drag: [{ list: "flow", index: 1, key: "count", low: 1, high: 20 }, { list: "all", key: "law" }],
    measure: (result) => {
      const { flows, links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}, ${percent(lost(result))} of the packets dropped; each flow: ${listed(flows)}.`;
    },
    question: "Choose CUBIC for all flows. Which information do senders receive, and when?",
    answer: "Only that a packet was lost, one round trip after the buffer overflowed. They receive neither the number of flows nor the fair rate, so they fill the buffer, lose packets and back off, again and again.",
    speed: 1 / 40,
  },
  {
    id: "maxmin",
    plot: "rates", concealed: true,
    title: "Max-min fairness in networks",
    text: "x1 crosses three links of 30, 20 and 18 Mb/s; each link has one more flow. The rates are max-min fair: no flow can get more unless a flow of equal or smaller rate gets less.",
    scenario: {
      name: "max-min in networks", duration: "20 s", sample: "50 ms",
      link: [["A", "B", "30 Mb/s"], ["B", "C", "20 Mb/s"], ["C", "D", "18 Mb/s"]].map(([from, to, capacity]) => ({
        from, to, ...wire(capacity, "5 ms", "200 packets"),
      })),
      flow: [
        { name: "x1", law: "jetmax", from: "A", to: "D" },
        { name: "x2", law: "jetmax", from: "A", to: "B" },
        { name: "x3", law: "jetmax", from: "B", to: "C" },
        { name: "x4", law: "jetmax", from: "C", to: "D" },
      ],
    },
    predict: {
      question: "Before you look at the plot: what is the fair rate of x2, which shares only the first link with x1?",
      options: ["15 Mb/s, half of its link.", "21 Mb/s.", "9 Mb/s, like x1."],
      hints: ["x1 also crosses tighter links. Does it need half of the first link?", "", "x2 crosses only the first link. Who takes the rest of its 30 Mb/s?"],
      right: 1,
      why: "The tightest link is the third: 18 / 2 = 9 Mb/s each for x1 and x4. So x1 leaves 20 − 9 = 11 to x3 and 30 − 9 = 21 to x2.",
    },
    tried: () => {},
    reached: () => true,
    drag: [{ list: "link", index: 2, key: "capacity", low: 4e6, high: 60e6 }],
    measure: (result) => `In the last quarter: ${listed(outcome(result).flows)}.`,
    question: "Increase the capacity of the third link. From which capacity on does x1 no longer get more, and why?",
    check: { label: "Capacity in Mb/s", value: 20, tolerance: 0.2, hint: "x1 gets the smallest of its fair shares. When does the second link, with 20 / 2 Mb/s, become the tightest?" },
    answer: "From 20 Mb/s on: then the second link, with 20 / 2 = 10 Mb/s each for x1 and x3, is the tightest. Further capacity of the third link goes to x4 alone.",
    speed: 1 / 100,
  },
];

/** Panel of the open lesson. */
export class Lessons {
  /** @type {Lesson | null} */
  lesson = null;
  /** Newest result. @type {Result | null} */
  #result = null;
  /** Option that the user predicted. @type {number | null} */
  #predicted = null;
  /** True after the experiment: its explanation is visible. */
  #explained = false;
  #measured = element("p", { class: "measured", role: "status", "aria-live": "polite" });
  #verdict = element("p", { class: "verdict", role: "status" });
  #experiment = element("div");
  #question = element("div");

  /**
   * @param {HTMLElement} place
   * @param {{open: (lesson: Lesson) => void, fields: (drag: Drag[]) => Field[], close: () => void}} act
   */
  constructor(place, act) {
    this.place = place;
    this.act = act;
  }

  /** Plot of the open lesson; undefined without a lesson. */
  get plot() {
    return this.lesson?.plot;
  }

  /** @param {Lesson} lesson */
  open(lesson) {
    this.lesson = lesson;
    this.#predicted = null;
    this.#explained = false;
    this.#verdict.textContent = "";
    this.#verdict.classList.remove("right");
    document.body.classList.add("with-lesson");
    document.body.classList.toggle("concealed", Boolean(lesson.concealed));
    this.#measured.textContent = "";
    this.place.hidden = false;
    const course = element("nav", { class: "course", "aria-label": "Lessons" }, ...LESSONS.map((one, i) => {
      const button = element("button", { type: "button", text: String(i + 1), title: one.title, "aria-label": `Lesson ${i + 1}: ${one.title}`,
        "aria-pressed": String(one === lesson) });
      button.addEventListener("click", () => this.act.open(one));
      return button;
    }));
    const close = element("button", { type: "button", text: "Close" });
    close.addEventListener("click", () => this.act.close());
    const number = LESSONS.indexOf(lesson);
    const head = element("header", {}, element("h2", { text: `Lesson ${number + 1} of ${LESSONS.length}: ${lesson.title}` }), course, close);
    /** @param {string} step */
    const locked = (step) => element("p", { class: "locked", text: `This opens after ${step}.` });
    this.#experiment.replaceChildren(element("h3", { text: "2. Try" }), locked("your prediction"));
    this.#question.replaceChildren(element("h3", { text: "3. Explain" }), locked("the experiment"));
    const steps = element("div", { class: "steps" }, this.#prediction(lesson), this.#experiment, this.#question);
    this.place.replaceChildren(head, element("p", { text: lesson.text }), steps);
  }

  /**
   * Creates the question of the prediction, with its options.
   *
   * @param {Lesson} lesson
   */
  #prediction(lesson) {
    const { question, options } = lesson.predict;
    const rows = options.map((text, i) => {
      const radio = element("input", { type: "radio", name: "prediction", value: String(i) });
      radio.addEventListener("change", () => {
        const first = this.#predicted === null;
        this.#predicted = i;
        if (first) this.#unlock(lesson);
        this.#judge();
      });
      return element("label", { class: "option" }, radio, element("span", { text }));
    });
    return element("fieldset", {}, element("legend", { text: `1. Predict: ${question}` }), ...rows, this.#verdict);
  }

  /** Judges the prediction: with a hint before the experiment, with right or wrong after it. */
  #judge() {
    const { lesson } = this;
    if (!lesson || this.#predicted === null) return;
    const { right, hints } = lesson.predict;
    const isRight = this.#predicted === right;
    if (!this.#explained) this.#verdict.textContent = `Now try it. ${hints[this.#predicted]}`;
    else this.#verdict.textContent = isRight ? "Your prediction is right." : "The plot shows something else.";
    this.#verdict.classList.toggle("right", this.#explained && isRight);
  }

  /**
   * Shows the experiment.
   *
   * @param {Lesson} lesson
   */
  #unlock(lesson) {
    document.body.classList.remove("concealed");
    const rows = this.act.fields(lesson.drag).map((field) => field.row);
    const explain = element("button", { type: "button", text: "Explain" });
    explain.addEventListener("click", () => this.#explain(lesson));
    this.#experiment.replaceChildren(element("h3", { text: "2. Try: change the value, and watch the plot" }), ...rows, this.#measured);
    this.#question.replaceChildren(element("h3", { text: "3. Explain" }),
      element("p", { class: "locked", text: "This opens after the change of the question, or here:" }), explain);
    this.#showMeasured();
  }

  /**
   * Shows the explanation and the question.
   *
   * @param {Lesson} lesson
   */
  #explain(lesson) {
    this.#explained = true;
    this.#judge();
    const answer = element("details", {}, element("summary", { text: "Answer" }), element("p", { text: lesson.answer }));
    this.#question.replaceChildren(element("h3", { text: "3. Explain" }), element("p", { text: lesson.predict.why }),
      element("p", { class: "asked", text: lesson.question }), ...(lesson.check ? [checked(lesson.check)] : []), answer);
    const next = LESSONS[LESSONS.indexOf(lesson) + 1];
    if (next) {
      const button = element("button", { type: "button", class: "main", text: `Next: ${next.title}` });
      button.addEventListener("click", () => this.act.open(next));
      this.#question.append(button);
    }
  }

  /**
   * Shows the measured values of a run.
   *
   * @param {Result} result
   */
  show(result) {
    this.#result = result;
    this.#showMeasured();
  }

  #showMeasured() {
    const { lesson } = this;
    if (!lesson || this.#predicted === null || !this.#result?.summary) return;
    this.#measured.textContent = lesson.measure(this.#result);
    if (!this.#explained && lesson.reached(this.#result.scenario)) this.#explain(lesson);
  }

  close() {
    this.lesson = null;
    document.body.classList.remove("with-lesson", "concealed");
    this.place.hidden = true;
    this.place.replaceChildren();
  }
}

/**
 * Creates a field for a number, with a check.
 *
 * @param {NonNullable<Lesson["check"]>} check
 */
function checked({ label, value, tolerance, hint }) {
  const input = element("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  const button = element("button", { type: "submit", text: "Check" });
  const verdict = element("p", { class: "verdict", role: "status" });
  const form = element("form", { class: "check" }, element("label", {}, `${label} `, input), button, verdict);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const found = Number(input.value.trim().replace(",", "."));
    const isRight = input.value.trim() !== "" && Math.abs(found - value) <= tolerance;
    verdict.textContent = isRight ? "Right." : hint;
    verdict.classList.toggle("right", isRight);
  });
  return form;
}
