/** Texts of the page in English. Each other language has the same keys. */

export const EN = {
  run: {
    progress: (/** @type {string} */ now, /** @type {string} */ end) => `Simulating: ${now} of ${end}`,
    stopped: (/** @type {string} */ now) => `Stopped at ${now}`,
    tooLong: (/** @type {string} */ now) => `Stopped at ${now}: a page simulates at most 30 million events; shorten the run or lower the capacities`,
    empty: "Draw a network: Add node, Add link, Add flow. It runs as soon as it has a link and a flow.",
    lastValid: "The plots show the last valid values.",
    second: (/** @type {string} */ line) => `Second law: ${line}`,
    show: "Show",
    useMarks: "Use a queue that marks packets",
  },
  preset: {
    own: "own network",
    empty: "Empty: draw your own",
  },
  plots: {
    time: "time (s)",
  },
  key: {
    data: "data packet",
    ack: "ACK",
    queue: "queue and its buffer",
    drop: "dropped packet",
  },
  help: (/** @type {string} */ label) => `Meaning of ${label}`,
  theory: {
    more: (/** @type {number} */ count) => `and ${count} more flows`,
  },
  measures: {
    used: "link used",
    usedOf: (/** @type {string} */ link) => `${link} used`,
    delay: "99 % of queueing delays below",
    jain: "Jain’s index (1 is fair)",
    lost: "packets lost",
  },
};
