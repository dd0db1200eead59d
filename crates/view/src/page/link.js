// @ts-check
// The whole set-up in the address: whoever opens it sees the same numbers.

/** @typedef {import("./protocol.js").Setup} Setup */

/**
 * The set-up of an address, as far as it says.
 * @param {string} hash
 * @returns {Partial<Setup>}
 */
export function readLink(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  /** @type {Partial<Setup>} */
  const setup = {};
  const whole = (/** @type {"agents" | "case" | "seed" | "refine"} */ name) => {
    const number = Number.parseInt(given.get(name) ?? "", 10);
    if (Number.isFinite(number) && number >= 0) setup[name] = number;
  };
  if (given.has("task")) setup.task = given.get("task") ?? "";
  if (given.has("policy")) setup.policy = given.get("policy") || null;
  if (given.has("beside")) setup.beside = given.get("beside") || null;
  /** @type {const} */ (["agents", "case", "seed", "refine"]).forEach(whole);
  try {
    const events = JSON.parse(given.get("events") ?? "[]");
    if (Array.isArray(events)) setup.events = events.map(([step, what]) => ({ step, what }));
  } catch {
    // an address that was cut off still opens, without its events
  }
  return setup;
}

/**
 * The address of a set-up.
 * @param {Setup} setup
 * @returns {string}
 */
export function writeLink(setup) {
  const link = new URLSearchParams({ task: setup.task, policy: setup.policy ?? "", beside: setup.beside ?? "" });
  if (setup.agents !== null) link.set("agents", String(setup.agents));
  link.set("case", String(setup.case));
  if (setup.seed) link.set("seed", String(setup.seed));
  if (setup.refine > 1) link.set("refine", String(setup.refine));
  if (setup.events?.length) link.set("events", JSON.stringify(setup.events.map(({ step, what }) => [step, what])));
  return `#${link}`;
}
