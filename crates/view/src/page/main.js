// @ts-check
// The page: what is shown, what is asked for, and what a user does.

import { Chart, drawLines } from "./chart.js";
import { themed } from "./colours.js";
import { LineView } from "./line.js";
import { readLink, writeLink } from "./link.js";
import { PlaneView } from "./plane.js";
import { Connection, readFrame } from "./protocol.js";
import { Gif, save } from "./record.js";

/**
 * @typedef {import("./protocol.js").Frame} Frame @typedef {import("./protocol.js").Scene} Scene
 * @typedef {import("./protocol.js").Setup} Setup @typedef {import("./protocol.js").Choice} Choice
 * @typedef {import("./protocol.js").Happening} Happening
 */

/** @template {HTMLElement} T @param {string} id @param {new () => T} kind @returns {T} */
function element(id, kind) {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}
const canvas = (/** @type {string} */ id) => element(id, HTMLCanvasElement);
const button = (/** @type {string} */ id) => element(id, HTMLButtonElement);
const select = (/** @type {string} */ id) => element(id, HTMLSelectElement);
const input = (/** @type {string} */ id) => element(id, HTMLInputElement);
const text = (/** @type {string} */ id) => element(id, HTMLElement);

const canvases = [canvas("field"), canvas("twin")];
const chart = new Chart(canvas("chart"));

/** @type {Choice[]} */
let choices = [];
/** @type {Setup | null} */
let setup = null;
/** @type {Happening[]} */
let events = [];
/** @type {Scene | null} */
let scene = null;
/** @type {Frame | null} */
let frame = null;
/** @type {(LineView | PlaneView)[]} */
let views = [];
let playing = !new URLSearchParams(location.hash.slice(1)).has("paused");
let asked = false;
let askedAt = 0;
/** @type {[number, number] | null} */
let cross = null;
/** @type {Gif | null} */
let gif = null;
let spokenAt = 0;
let frames = 0;

// --- talking to the server

const connection = new Connection({
  open() {
    notice("");
    asked = false;
    connection.send({ do: "speed", steps: Number(select("speed").value) });
    if (setup) open({ ...setup, events }, playing);
  },
  text(answer) {
    if (answer.policies) offered(answer.policies);
    else if (answer.scene) staged(answer.scene);
    else if (answer.happened) happened(answer.happened);
    else if (answer.learning) learning(answer.learning);
    else if (answer.refused) notice(answer.refused);
  },
  frame(buffer) {
    asked = false;
    // where frames take long, the next one is asked for before this one is drawn
    if (playing && performance.now() > askedAt + 33) askFrame();
    if (scene) shown(readFrame(buffer, scene.dims));
  },
  lost(reason) {
    asked = false;
    notice(`The connection is lost${reason ? `: ${reason}` : ""}. Trying again.`);
  },
});

/** @param {Choice[]} policies */
function offered(policies) {
  choices = policies;
  const options = policies.map(({ name, task }) => new Option(name === task ? name : `${name} (${task})`, name));
  select("policy").replaceChildren(...options, new Option("no control", ""));
  if (setup) return;
  const given = readLink(location.hash);
  const first = policies.find(({ name }) => name === given.policy) ?? policies.find(({ task }) => task === given.task) ?? policies[0];
  open(
    {
      task: given.task ?? first.task,
      policy: given.policy === undefined ? first.name : given.policy,
      beside: given.beside ?? null,
      agents: given.agents ?? null,
      case: given.case ?? 0,
      seed: given.seed ?? 0,
      refine: given.refine ?? 1,
      events: given.events ?? [],
    },
    playing,
  );
}

/** Begins a set-up. @param {Setup} wanted @param {boolean} runs */
function open(wanted, runs) {
  setup = wanted;
  events = wanted.events ?? [];
  connection.send({ do: "open", setup: wanted });
  run(runs);
}

/** @param {boolean} runs */
function run(runs) {
  playing = runs;
  connection.send({ do: runs ? "play" : "pause" });
  button("play").textContent = runs ? "Pause" : "Play";
  button("play").setAttribute("aria-pressed", String(runs));
}

/** @param {Object<string, any>} what */
function happen(what) {
  connection.send({ do: "happen", what });
}

/** @param {Scene} next */
function staged(next) {
  const same = scene && JSON.stringify(scene.setup) === JSON.stringify(next.setup) && String(scene.shape) === String(next.shape);
  scene = next;
  if (setup) setup = { ...next.setup, agents: next.setup.agents };
  if (!same) chart.clear();
  views = canvases.map((one) => (next.dims === 1 ? new LineView(one, next) : new PlaneView(one, next)));
  text("title").textContent = next.title;
  select("policy").value = next.setup.policy ?? "";
  const beside = choices.filter(({ task }) => task === next.setup.task).map(({ name }) => new Option(name, name));
  select("beside").replaceChildren(new Option("no control", ""), ...beside);
  select("beside").value = next.setup.beside ?? "";
  select("refine").value = String(next.setup.refine);
  text("left-name").textContent = next.setup.policy ?? "no control";
  text("right-name").textContent = next.setup.beside ?? "no control";
  input("agents").value = String(next.agents);
  showSettings(next);
  link();
}

/** @param {Scene} next */
function showSettings(next) {
  const legend = text("settings").querySelector("legend");
  const rows = next.settings.map(({ key, meaning, value, trained }) => {
    const [label, field] = [document.createElement("label"), document.createElement("input")];
    Object.assign(field, { type: "number", step: "any", value: String(Number(value.toPrecision(6))), name: key });
    field.dataset.testid = key === "noise.sensor" ? "noise" : key;
    field.setAttribute("aria-label", `${key}: ${meaning}`);
    field.addEventListener("change", () => happen({ set: [key, Number(field.value)] }));
    label.title = `${meaning}; trained with ${trained}`;
    label.append(key, field);
    return label;
  });
  text("settings").replaceChildren(...(legend ? [legend] : []), ...rows);
}

/** @param {Happening} event */
function happened(event) {
  events.push(event);
  if (event.what.fail !== undefined) showFail(event.what.fail);
  link();
}

/** @param {number} share */
function showFail(share) {
  input("fail").value = String(share);
  text("fail-value").textContent = `${Math.round(100 * share)} %`;
}

function link() {
  if (setup) history.replaceState(null, "", writeLink({ ...setup, events }));
}

let replayed = { shown: -1, at: 0 };
/** Shows how far a training is, and the case anew when there are new parameters. @param {import("./protocol.js").Learning} now */
function learning(now) {
  text("learning-figure").hidden = false;
  text("learned").textContent = `${now.shown} of ${now.of}`;
  drawLines(canvas("learning"), [[now.loss, "left"], [now.validation, "right"]], (update) => `update ${update}`);
  const due = !frame || !scene || frame.step >= scene.horizon || performance.now() > replayed.at + 4000;
  if (!setup || setup.policy !== now.policy || now.shown === replayed.shown || !due || !playing) return;
  replayed = { shown: now.shown, at: performance.now() };
  open({ ...setup, events: [] }, playing);
}

/** @param {string} message */
function notice(message) {
  text("notice").textContent = message;
  text("notice").hidden = !message;
}

// --- showing

/** @param {number} x */
function short(x) {
  return Number.isFinite(x) ? (Math.abs(x) < 1e-2 || Math.abs(x) >= 1e4 ? x.toExponential(2) : x.toPrecision(3)) : "not finite";
}

/** @param {Frame} next */
function shown(next) {
  if (!scene) return;
  if (frame && next.step < frame.step) chart.clear();
  frame = next;
  frames++;
  chart.add(next.step, next.errors);
  text("error-controlled").textContent = short(next.errors[0]);
  text("error-uncontrolled").textContent = short(next.errors[1]);
  text("time").textContent = (next.step * scene.dt).toPrecision(4);
  text("step-number").textContent = String(next.step);
  text("agent-count").textContent = `${alive(next)} of ${next.panes[0].agents || next.panes[1].agents}`;
  text("effort").textContent = short(next.effort);
  text("decision").textContent = next.decision ? `${next.decision.toFixed(next.decision < 100 ? 1 : 0)} µs` : "–";
  draw();
  if (gif) film();
  speak(next);
}

/** @param {Frame} of */
function alive(of) {
  const { alive } = of.panes[0].agents ? of.panes[0] : of.panes[1];
  return alive.reduce((sum, one) => sum + one, 0);
}

function draw() {
  if (!frame || !scene) return;
  const { panes, step } = frame;
  views.forEach((view, k) => view.draw(panes[k], step, themed(k ? "right" : "left"), k ? null : cross));
  chart.draw(scene.dt);
  canvases[0].setAttribute("aria-label", `The field of ${scene.setup.task} with ${panes[0].agents} agents`);
  canvases[1].setAttribute("aria-label", `The same field with ${scene.setup.beside ?? "no control"}`);
}

/** Tells now and then how things are, for those who do not see the picture. @param {Frame} next */
function speak(next) {
  if (performance.now() < spokenAt + 5000 || document.activeElement !== canvases[0]) return;
  spokenAt = performance.now();
  text("spoken").textContent = `Step ${next.step}, error ${short(next.errors[0])}, beside it ${short(next.errors[1])}`;
}

let quiet = 0;
function ask() {
  // a field that stands still is looked at less often
  const due = playing || quiet++ % 6 === 0;
  if (!asked && due) askFrame();
  requestAnimationFrame(ask);
}
function askFrame() {
  if (document.hidden) return;
  [asked, askedAt] = [true, performance.now()];
  connection.send({ do: "frame" });
}
requestAnimationFrame(ask);

// --- what a user does

button("play").onclick = () => run(!playing);
button("step").onclick = () => {
  run(false);
  connection.send({ do: "step" });
};
button("reset").onclick = () => {
  if (!setup) return;
  showFail(0);
  open({ ...setup, events: [] }, playing);
};
button("new-case").onclick = () => {
  if (setup) open({ ...setup, case: setup.case + 1, events: [] }, playing);
};
select("speed").onchange = () => connection.send({ do: "speed", steps: Number(select("speed").value) });
select("policy").onchange = () => {
  if (!setup) return;
  const chosen = choices.find(({ name }) => name === select("policy").value);
  const task = chosen?.task ?? setup.task;
  const same = task === setup.task;
  showFail(0);
  open(
    {
      ...setup,
      task,
      policy: chosen?.name ?? null,
      beside: same ? setup.beside : null,
      agents: same ? setup.agents : null,
      case: same ? setup.case : 0,
      events: [],
    },
    playing,
  );
};
select("beside").onchange = () => {
  if (setup) open({ ...setup, beside: select("beside").value || null, events: [] }, playing);
};
select("refine").onchange = () => {
  if (setup) open({ ...setup, refine: Number(select("refine").value), events: [] }, playing);
};
input("agents").onchange = () => happen({ agents: Math.round(Number(input("agents").value)) || 1 });
input("fail").onchange = () => happen({ fail: Number(input("fail").value) });
input("fail").oninput = () => showFail(Number(input("fail").value));
button("link").onclick = async () => {
  link();
  try {
    await navigator.clipboard.writeText(location.href);
    notice("The link is copied.");
  } catch {
    notice("The address bar has the link.");
  }
};
button("theme").onclick = () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.documentElement.dataset.theme = dark === "dark" ? "light" : "dark";
  draw();
};
window.addEventListener("resize", draw);
window.addEventListener("hashchange", () => {
  const given = readLink(location.hash);
  if (setup && given.task) open({ ...setup, policy: null, beside: null, agents: null, case: 0, seed: 0, refine: 1, events: [], ...given }, playing);
});

/** Both fields side by side, as they are on the screen. */
function picture() {
  const [left, right] = canvases;
  const both = document.createElement("canvas");
  const [gap, width] = [16, Math.min(left.width, 480)];
  const height = Math.round((left.height / left.width) * width);
  [both.width, both.height] = [2 * width + gap, height];
  const context = /** @type {CanvasRenderingContext2D} */ (both.getContext("2d", { willReadFrequently: true }));
  context.fillStyle = themed("panel");
  context.fillRect(0, 0, both.width, both.height);
  context.drawImage(left, 0, 0, width, height);
  context.drawImage(right, width + gap, 0, width, height);
  return { both, context };
}
button("picture").onclick = () => {
  picture().both.toBlob((blob) => blob && save(blob, `cinoc-${scene?.setup.task}.png`));
};
const LONGEST = 150;
let filmed = 0;
function film() {
  // 15 pictures a second are enough
  if (!gif || performance.now() < filmed + 66) return;
  filmed = performance.now();
  const { both, context } = picture();
  gif.add(context.getImageData(0, 0, gif.size.width, gif.size.height));
  button("record").textContent = `Stop (${gif.frames})`;
  if (gif.frames >= LONGEST || both.width !== gif.size.width) stopFilm();
}
function stopFilm() {
  if (!gif) return;
  save(gif.finish(), `cinoc-${scene?.setup.task}.gif`);
  gif = null;
  button("record").textContent = "Record GIF";
}
button("record").onclick = () => {
  if (gif) return stopFilm();
  const { both } = picture();
  gif = new Gif(both.width, both.height, 7);
  button("record").textContent = "Stop";
};

// --- hands on the field

/** The agent under a pointer, if there is one. @param {number} px @param {number} py @param {number} reach */
function agentUnder(px, py, reach) {
  if (!frame || !views[0]) return -1;
  let [nearest, best] = [-1, reach];
  for (let i = 0; i < frame.panes[0].agents; i++) {
    const [x, y] = views[0].agentAt(frame.panes[0], i);
    const distance = Math.hypot(x - px, y - py);
    if (distance < best) [nearest, best] = [i, distance];
  }
  return nearest;
}

/** @param {PointerEvent} event @returns {[number, number]} */
function under(event) {
  const box = canvases[0].getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** @type {{agent: number, moved: boolean, timer: number} | null} */
let held = null;
canvases[0].addEventListener("pointerdown", (event) => {
  if (!views[0]) return;
  const [px, py] = under(event);
  if (event.shiftKey) return happen({ add: views[0].place(px, py) });
  canvases[0].setPointerCapture(event.pointerId);
  const agent = agentUnder(px, py, event.pointerType === "touch" ? 22 : 11);
  held = { agent, moved: false, timer: 0 };
  if (agent >= 0) return;
  let at = views[0].place(px, py);
  const press = () => happen({ disturb: [at, 0.4] });
  press();
  held.timer = window.setInterval(press, 120);
  canvases[0].onpointermove = (move) => {
    at = views[0].place(...under(move));
  };
});
canvases[0].addEventListener("pointermove", (event) => {
  if (!held || held.agent < 0) return;
  if (Math.abs(event.movementX) + Math.abs(event.movementY) < 1 && !held.moved) return;
  held.moved = true;
  if (asked || !views[0]) return;
  happen({ move: [held.agent, views[0].place(...under(event))] });
});
const release = (/** @type {PointerEvent} */ event) => {
  if (!held) return;
  clearInterval(held.timer);
  canvases[0].onpointermove = null;
  if (held.agent >= 0 && frame && event.type === "pointerup") {
    if (held.moved) happen({ move: [held.agent, views[0].place(...under(event))] });
    else toggle(held.agent);
  }
  held = null;
};
canvases[0].addEventListener("pointerup", release);
canvases[0].addEventListener("pointercancel", release);

/** @param {number} agent */
function toggle(agent) {
  if (!frame || agent < 0) return;
  happen(frame.panes[0].alive[agent] > 0 ? { kill: agent } : { revive: agent });
}

document.addEventListener("keydown", (event) => {
  const inField = event.target === canvases[0];
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (inField && inKeys(event.key)) return event.preventDefault();
  const agents = frame?.panes[0].agents ?? 0;
  /** @type {Object<string, () => void>} */
  const keys = {
    " ": () => run(!playing),
    ".": () => button("step").click(),
    r: () => button("reset").click(),
    n: () => button("new-case").click(),
    "+": () => agents && happen({ agents: agents + 1 }),
    "-": () => agents > 1 && happen({ agents: agents - 1 }),
  };
  if (event.key === " " && event.target instanceof HTMLButtonElement) return;
  if (keys[event.key]) {
    keys[event.key]();
    event.preventDefault();
  }
});

/** Keys that work in the field; says whether this was one. @param {string} key */
function inKeys(key) {
  if (!scene || !frame || !views[0]) return false;
  const [lx, ly] = scene.lengths;
  const at = cross ?? /** @type {[number, number]} */ ([lx / 2, ly / 2]);
  const [dx, dy] = /** @type {Object<string, [number, number]>} */ ({
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowUp: [0, 1],
    ArrowDown: [0, -1],
  })[key] ?? [0, 0];
  if (dx || dy) {
    cross = [Math.min(Math.max(at[0] + (dx * lx) / 50, 0), lx), Math.min(Math.max(at[1] + (dy * ly) / 50, 0), ly)];
    draw();
    return true;
  }
  if (key === "Enter") happen({ disturb: [at, 0.4] });
  else if (key === "a") happen({ add: at });
  else if (key === "k") toggle(nearest(at));
  else return false;
  return true;
}

/** @param {[number, number]} place */
function nearest(place) {
  if (!frame || !scene) return -1;
  const { xi, agents } = frame.panes[0];
  let [best, least] = [-1, Infinity];
  for (let i = 0; i < agents; i++) {
    const distance = Math.hypot(xi[i] - place[0], scene.dims > 1 ? xi[agents + i] - place[1] : 0);
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

// --- for tests and for people at the console

Object.assign(window, {
  cinoc: {
    state() {
      return scene && frame
        ? {
            task: scene.setup.task,
            policy: scene.setup.policy,
            time: frame.step * scene.dt,
            step: frame.step,
            agents: frame.panes[0].agents,
            alive: alive(frame),
            error: frame.errors[0],
            uncontrolled: frame.errors[1],
          }
        : null;
    },
    frames: () => frames,
    positions: () => (frame ? Array.from(frame.panes[0].xi) : []),
    field: () => (frame ? Array.from(frame.panes[0].z) : []),
    /** Where an agent is drawn, in CSS pixels of the field. @param {number} agent */
    agentAt: (agent) => (frame && views[0] ? views[0].agentAt(frame.panes[0], agent) : null),
  },
});
