/** Six lessons: predict, drag, answer. What a lesson says is right, a test asks the engine. */

import { element } from "./fields.js";
import { outcome } from "./series.js";
import { format, short } from "./units.js";

const wire = (capacity, delay, buffer, more = {}) => ({ capacity, delay, buffer, duplex: true, ...more });

function line(name, duration, link, flow, law) {
  return {
    name, duration, sample: "50 ms", ...(law ? { law } : {}),
    link: [{ from: "A", to: "B", ...link }],
    flow: flow.map((one) => ({ from: "A", to: "B", ...one })),
  };
}

const percent = (share) => `${short(100 * share)} %`;
const listed = (flows) => flows.map(({ name, rate }) => `${name} ${rate === null ? "–" : format("rate", rate)}`).join(", ");

function lost(result) {
  const sent = result.summary.flows.reduce((sum, flow) => sum + flow.sent_packets, 0);
  const dropped = result.summary.flows.reduce((sum, flow) => sum + flow.dropped_packets, 0);
  return sent ? dropped / sent : 0;
}

/** Jain's index of rates over fair rates: 1 if all have their share. */
export function jain(flows) {
  const shares = flows.filter(({ rate, fair }) => rate !== null && fair).map(({ rate, fair }) => rate / fair);
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.length ? (sum * sum) / (shares.length * shares.reduce((a, b) => a + b * b, 0)) : NaN;
}

/** How far the rate of a flow swings in the last quarter of a run, over its mean. */
function swing(result, index) {
  const { flows } = result.tables;
  const stride = result.resolved.flows.length;
  const rates = [];
  for (let row = index; row < flows.rows; row += stride) if (flows.t[row] > 0.75 * result.now) rates.push(flows.throughput_bps[row]);
  const mean = rates.reduce((a, b) => a + b, 0) / rates.length;
  return (Math.max(...rates) - Math.min(...rates)) / mean;
}

/** The lessons. `tried` is the scenario of the prediction, in which `right` comes true. */
export const LESSONS = [
  {
    id: "queue",
    title: "What a queue is",
    text: "A sender puts 8 Mb/s on a link of 10 Mb/s, whatever happens. A packet that comes while another is being sent waits in the queue in front of the link.",
    scenario: line("what a queue is", "10 s", wire("10 Mb/s", "20 ms", "100 packets"), [{ name: "x", law: { cbr: { rate: "8 Mb/s" } } }]),
    predict: {
      question: "You lower the link to 7 Mb/s, a little less than the sender sends. What will the queue do?",
      options: [
        "It stays nearly empty: 7 of 8 Mb/s fit.",
        "It grows to a length that depends on how much is missing, and stays there.",
        "It grows until the buffer is full; from then on packets are dropped.",
      ],
      right: 2,
      why: "Each second 1 Mb more arrives than leaves, so the queue grows for as long as there is room. Only the drops stop it: an eighth of all packets.",
    },
    tried: (scenario) => { scenario.link[0].capacity = "7 Mb/s"; },
    drag: [{ list: "link", index: 0, key: "capacity", low: 4e6, high: 20e6 }],
    measure: (result) => {
      const { links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}, ${percent(lost(result))} of the packets dropped.`;
    },
    question: "How long does a packet wait behind a full buffer of 100 packets of 1000 bytes at 7 Mb/s? Work it out, then read the plot.",
    answer: "100 packets × 8000 bit / 7 Mb/s = 114 ms. The wait is the queue divided by the capacity, so the same buffer hurts a slow line more.",
    speed: 1 / 30,
  },
  {
    id: "fairness",
    title: "Fairness",
    text: "Two TCP flows, near and far, share a link. Their round trips are 20 ms and, at first, 20 ms, too. Both send until a packet is lost, then halve their windows.",
    scenario: line("fairness", "60 s", wire("10 Mb/s", "10 ms", "25 packets"), [
      { name: "near", law: "reno", rtt: "20 ms" }, { name: "far", law: "reno", rtt: "20 ms" },
    ]),
    predict: {
      question: "You move the far one away, to a round trip of 80 ms. How will the two share the link?",
      options: ["Still equally.", "The near one gets more.", "The far one gets more: it has more packets on their way."],
      right: 1,
      why: "TCP Reno adds a packet per round trip. The near one has four round trips in the time of one, so it recovers from losses faster, each time.",
    },
    tried: (scenario) => { scenario.flow[1].rtt = "80 ms"; },
    drag: [{ list: "flow", index: 1, key: "rtt", low: 0.02, high: 0.4 }, { list: "all", key: "law" }],
    measure: (result) => {
      const { flows } = outcome(result);
      return `In the last quarter: ${listed(flows)}; Jain's index ${short(jain(flows))} (1 is fair).`;
    },
    question: "Choose JetMax for both flows and drag again. Why does the distance no longer matter?",
    answer: "Routers tell both flows the same fair rate, and each moves there by itself. A longer round trip delays the news, but does not change the rate.",
    speed: 1 / 50,
  },
  {
    id: "delay",
    title: "Why delay breaks controllers",
    text: "Two senders follow classic Kelly control: they rise while the router's price is low and fall while it is high. What they hear is a round trip old.",
    scenario: line("why delay breaks controllers", "20 s", wire("10 Mb/s", "10 ms", "200 packets"), [
      { name: "x1", law: "kelly", rtt: "40 ms" }, { name: "x2", law: "kelly", rtt: "40 ms", start: "5 s" },
    ], { kelly: { kappa: 0.25, omega: "100 kb/s" } }),
    predict: {
      question: "The round trip of both rises from 40 to 200 ms; nothing else changes. What will the rates do?",
      options: ["Settle at the same rates, only later.", "Settle at lower rates.", "Swing up and down and never settle."],
      right: 2,
      why: "While a sender corrects an old error, the router is already past it; the correction comes too late and too strong, again and again.",
    },
    tried: (scenario) => { for (const flow of scenario.flow) flow.rtt = "200 ms"; },
    drag: [
      { list: "both", key: "rtt", label: "round trip", low: 0.02, high: 0.4 },
      { list: "law", law: "kelly", key: "kappa", low: 0.01, high: 1 },
    ],
    measure: (result) => `In the last quarter the rate of x1 swings by ${percent(swing(result, 0))} of its mean.`,
    question: "Stay at 200 ms and make it steady again. What does that cost?",
    answer: "A smaller gain kappa makes each correction smaller: 0.05 is steady, but needs much longer to reach the fair rates. The product of gain and delay decides; explicit rates that are stable under all delays, such as JetMax's, avoid the choice.",
    speed: 1 / 50,
  },
  {
    id: "buffers",
    title: "Why loss-based control fills buffers",
    text: "One CUBIC flow has a link of 10 Mb/s and a round trip of 40 ms for itself. The buffer holds 50 packets, what the path itself holds.",
    scenario: line("loss fills buffers", "30 s", wire("10 Mb/s", "20 ms", "50 packets"), [{ name: "x", law: "cubic" }]),
    predict: {
      question: "You make the buffer four times as large. What happens to the wait of a packet?",
      options: ["It hardly changes: the link is as fast as before.", "It gets about four times as long.", "It gets shorter, because fewer packets are lost."],
      right: 1,
      why: "CUBIC takes only a loss as news, and a loss comes only when the buffer is full. So it fills whatever buffer there is: this is bufferbloat.",
    },
    tried: (scenario) => { scenario.link[0].buffer = "200 packets"; },
    drag: [{ list: "link", index: 0, key: "buffer", low: 5, high: 1000 }],
    measure: (result) => {
      const { links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}; ${percent(result.summary.links[0].utilisation)} of the link used, ${percent(lost(result))} of the packets dropped.`;
    },
    question: "Find a buffer with at most 20 ms of wait. How much of the link does it cost?",
    answer: "25 packets are 20 ms (25 × 8000 bit / 10 Mb/s); the last one waits for the other 24. CUBIC still uses 99 % of the link; with 5 packets it falls to 89 %. Most of a large buffer buys delay and nothing else.",
    speed: 1 / 40,
  },
  {
    id: "explicit",
    title: "Explicit rates",
    text: "Here routers do not wait for losses: each tells senders what the link has for a flow (JetMax). One flow is alone; after 8 s others join it.",
    scenario: line("explicit rates", "20 s", wire("10 Mb/s", "20 ms", "100 packets"), [
      { name: "first", law: "jetmax" }, { name: "others", law: "jetmax", count: 2, start: "8 s" },
    ]),
    predict: {
      question: "Five flows join the first one at the same moment. How long does the queue get?",
      options: ["The buffer fills (80 ms), packets are dropped.", "About half full (40 ms).", "A few packets (below 10 ms)."],
      right: 2,
      why: "New flows begin slowly, the router counts what is asked for, and tells all of them a rate that fits before they take it.",
    },
    tried: (scenario) => { scenario.flow[1].count = 5; },
    drag: [{ list: "flow", index: 1, key: "count", low: 1, high: 20 }, { list: "all", key: "law" }],
    measure: (result) => {
      const { flows, links } = outcome(result);
      return `Longest wait ${format("time", links[0].longest)}, ${percent(lost(result))} of the packets dropped; each flow: ${listed(flows)}.`;
    },
    question: "Choose CUBIC for all flows. What do senders find out, and when?",
    answer: "That there was a loss, one round trip after the buffer overflowed. They learn neither how many flows there are nor what the fair rate is, so they must fill the buffer, lose, and back off for ever.",
    speed: 1 / 40,
  },
  {
    id: "maxmin",
    title: "Max-min fairness in networks",
    text: "x1 crosses three links of 30, 20 and 18 Mb/s; on each there is one more flow. Max-min fair: nobody can get more without taking from somebody who has no more.",
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
      right: 1,
      why: "The tightest link is the third: 18 / 2 = 9 Mb/s each for x1 and x4. So x1 leaves 20 − 9 = 11 to x3 and 30 − 9 = 21 to x2.",
    },
    tried: () => {},
    drag: [{ list: "link", index: 2, key: "capacity", low: 4e6, high: 60e6 }],
    measure: (result) => `In the last quarter: ${listed(outcome(result).flows)}.`,
    question: "Drag the third link upwards. From which capacity on does it no longer matter for x1, and why?",
    answer: "From 20 Mb/s on: then the second link, with 20 / 2 = 10 Mb/s each for x1 and x3, is the tightest. More on the third link goes to x4 alone.",
    speed: 1 / 100,
  },
];

/** The panel of a lesson. `act` has open(lesson), fields(drag) and close(). */
export class Lessons {
  constructor(place, act) {
    this.place = place;
    this.act = act;
    this.lesson = null;
  }

  open(lesson) {
    this.lesson = lesson;
    this.done = false;
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
    this.measured = element("p", { class: "measured", role: "status", "aria-live": "polite" });
    this.dragging = element("div");
    this.asking = element("div");
    const steps = element("div", { class: "steps" }, this.#predict(lesson), this.dragging, this.asking);
    this.place.replaceChildren(head, element("p", { text: lesson.text }), steps);
    this.#lock();
  }

  #predict(lesson) {
    const { question, options, right, why } = lesson.predict;
    const verdict = element("p", { class: "verdict", role: "status" });
    const reason = element("p", { text: why, hidden: true });
    const rows = options.map((text, i) => {
      const radio = element("input", { type: "radio", name: "prediction", value: String(i) });
      radio.addEventListener("change", () => {
        verdict.textContent = i === right ? "Right." : "Try it and see.";
        verdict.classList.toggle("right", i === right);
        this.reason = reason;
        if (!this.done) this.#unlock();
        reason.hidden = false;
      });
      return element("label", { class: "option" }, radio, element("span", { text }));
    });
    return element("fieldset", {}, element("legend", { text: `1. Predict: ${question}` }), ...rows, verdict, reason);
  }

  #lock() {
    const wait = "opens once you have predicted.";
    this.dragging.replaceChildren(element("h3", { text: "2. Drag" }), element("p", { class: "locked", text: `This ${wait}` }));
    this.asking.replaceChildren(element("h3", { text: "3. Question" }), element("p", { class: "locked", text: `This ${wait}` }));
  }

  #unlock() {
    this.done = true;
    const fields = this.act.fields(this.lesson.drag);
    this.dragging.replaceChildren(element("h3", { text: "2. Drag, and watch the plots" }), ...fields.map((field) => field.row), this.measured);
    const answer = element("details", {}, element("summary", { text: "Answer" }), element("p", { text: this.lesson.answer }));
    this.asking.replaceChildren(element("h3", { text: "3. Question" }), element("p", { text: this.lesson.question }), answer);
    const next = LESSONS[LESSONS.indexOf(this.lesson) + 1];
    if (next) {
      const button = element("button", { type: "button", class: "main", text: `Next: ${next.title}` });
      button.addEventListener("click", () => this.act.open(next));
      this.asking.append(button);
    }
    this.show(this.result);
  }

  /** Tells what the result of a run comes to. */
  show(result) {
    this.result = result;
    if (this.lesson && this.done && result?.summary) this.measured.textContent = this.lesson.measure(result);
  }

  close() {
    this.lesson = null;
    this.place.hidden = true;
    this.place.replaceChildren();
  }
}
