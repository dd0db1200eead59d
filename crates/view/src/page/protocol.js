// @ts-check
// What the page and the server say to each other: texts both ways, frames when the page asks for one.

/**
 * @typedef {{z: Float32Array, xi: Float32Array, u: Float32Array, v: Float32Array, alive: Float32Array, agents: number}} Pane
 * @typedef {{step: number, errors: [number, number], effort: number, decision: number, agents: number, panes: [Pane, Pane]}} Frame
 * @typedef {{key: string, meaning: string, value: number, trained: number}} Setting
 * @typedef {{step: number, what: Object<string, any>}} Happening
 * @typedef {{task: string, policy: string | null, beside: string | null, agents: number | null, case: number, seed: number,
 *   refine: number, events?: Happening[]}} Setup
 * @typedef {{setup: Setup, title: string, field: string, dims: number, shape: [number, number], lengths: [number, number],
 *   periodic: boolean, positive: boolean, tracks: boolean, target: number[], scale: number, agents: number, trained_agents: number,
 *   mobile: boolean, u_max: number | null, v_max: number | null, dt: number, horizon: number, settings: Setting[],
 *   discs: [number, number, number][]}} Scene
 * @typedef {{name: string, task: string, title: string}} Choice
 * @typedef {{policy: string, shown: number, of: number, loss: [number, number][], validation: [number, number][]}} Learning
 */

const HEADER = 9;

/**
 * Reads a frame.
 * @param {ArrayBuffer} buffer
 * @param {number} dims
 * @returns {Frame}
 */
export function readFrame(buffer, dims) {
  const numbers = new Float32Array(buffer);
  const whole = new Uint32Array(buffer, 0, HEADER);
  const [points, agents] = [whole[5], whole[6]];
  let at = HEADER;
  const take = (/** @type {number} */ count) => numbers.subarray(at, (at += count));
  const pane = (/** @type {number} */ parts) => {
    const there = parts & 1 ? agents : 0;
    return {
      z: take(points),
      xi: take(dims * there),
      u: take(parts & 2 ? there : 0),
      v: take(parts & 4 ? dims * there : 0),
      alive: take(there),
      agents: there,
    };
  };
  const left = pane(whole[7]);
  return {
    step: whole[0],
    errors: [numbers[1], numbers[2]],
    effort: numbers[3],
    decision: numbers[4],
    agents,
    panes: [left, pane(whole[8])],
  };
}

/** A connection that comes back when the server does. */
export class Connection {
  /** @param {{open: () => void, text: (answer: any) => void, frame: (buffer: ArrayBuffer) => void, lost: (reason: string) => void}} heard */
  constructor(heard) {
    this.heard = heard;
    this.waits = 250;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.connect();
  }

  connect() {
    const socket = new WebSocket(new URL("live", location.href.replace(/^http/, "ws").split("#")[0]));
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.waits = 250;
      this.heard.open();
    };
    socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.heard.text(JSON.parse(data));
      else this.heard.frame(data);
    };
    socket.onclose = ({ reason }) => {
      this.heard.lost(reason);
      // the server may be starting again, or another tab may have to close first
      setTimeout(() => this.connect(), this.waits);
      this.waits = Math.min(2 * this.waits, 5000);
    };
    this.socket = socket;
  }

  /** @param {Object<string, any>} request */
  send(request) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(request));
  }
}
