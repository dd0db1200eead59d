// @ts-check
// A field in two dimensions: a colour map with contours of the target, discs, and agents with tails and arrows.

import { painter, ready, themed } from "./colours.js";

/** @typedef {import("./protocol.js").Scene} Scene @typedef {import("./protocol.js").Pane} Pane */

const TAIL = 30;
const CONTOURS = [0.25, 0.5, 0.75];

export class PlaneView {
  /** @param {HTMLCanvasElement} canvas @param {Scene} scene */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    const [nx, ny] = scene.shape;
    this.map = document.createElement("canvas");
    [this.map.width, this.map.height] = [nx, ny];
    this.image = new ImageData(nx, ny);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.paint = painter(scene.positive, scene.scale);
    this.contours = scene.tracks ? contours(scene) : [];
    /** @type {Float32Array[]} */
    this.tails = [];
    this.step = -1;
  }

  get height() {
    return (this.canvas.clientWidth * this.scene.lengths[1]) / this.scene.lengths[0];
  }

  /** @param {number} x @param {number} y @returns {[number, number]} */
  at(x, y) {
    const [lx, ly] = this.scene.lengths;
    return [(x / lx) * this.canvas.clientWidth, (1 - y / ly) * this.height];
  }

  /** @param {number} px @param {number} py @returns {[number, number]} */
  place(px, py) {
    const [lx, ly] = this.scene.lengths;
    const share = (/** @type {number} */ x) => Math.min(Math.max(x, 0), 1);
    return [share(px / this.canvas.clientWidth) * lx, share(1 - py / this.height) * ly];
  }

  /** @param {Pane} pane @param {number} agent @returns {[number, number]} */
  agentAt(pane, agent) {
    return this.at(pane.xi[agent], pane.xi[pane.agents + agent]);
  }

  /** @param {Pane} pane @param {number} step @param {string} _colour @param {[number, number] | null} cross */
  draw(pane, step, _colour, cross) {
    const { context, width, height } = ready(this.canvas, this.height);
    const [nx, ny] = this.scene.shape;
    // rows of the state run along x, rows of the picture along y from the top
    for (let i = 0; i < nx; i++) {
      for (let j = 0; j < ny; j++) this.pixels[(ny - 1 - j) * nx + i] = this.paint(pane.z[i * ny + j]);
    }
    /** @type {CanvasRenderingContext2D} */ (this.map.getContext("2d")).putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.drawImage(this.map, 0, 0, width, height);
    context.strokeStyle = this.scene.positive ? "#ffffffaa" : "#000000aa";
    context.beginPath();
    for (const [ax, ay, bx, by] of this.contours) {
      context.moveTo(...this.at(ax, ay));
      context.lineTo(...this.at(bx, by));
    }
    context.stroke();
    for (const [x, y, radius] of this.scene.discs) {
      const [cx, cy] = this.at(x, y);
      context.fillStyle = "#8888";
      context.strokeStyle = "#000";
      context.beginPath();
      context.arc(cx, cy, (radius / this.scene.lengths[0]) * width, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
    this.follow(pane, step);
    this.drawTails(context, pane);
    this.drawAgents(context, pane, width);
    if (cross) {
      const [cx, cy] = this.at(...cross);
      context.strokeStyle = themed("ink");
      context.strokeRect(cx - 6, cy - 6, 12, 12);
    }
  }

  /** @param {Pane} pane @param {number} step */
  follow(pane, step) {
    if (!this.scene.mobile || !pane.agents || pane.agents > 300) return;
    if (step < this.step || this.tails[0]?.length !== pane.xi.length) this.tails = [];
    if (step !== this.step) this.tails.push(pane.xi.slice());
    if (this.tails.length > TAIL) this.tails.shift();
    this.step = step;
  }

  /** @param {CanvasRenderingContext2D} context @param {Pane} pane */
  drawTails(context, pane) {
    if (this.tails.length < 2) return;
    context.strokeStyle = "#0008";
    context.beginPath();
    for (let i = 0; i < pane.agents; i++) {
      for (let k = 0; k < this.tails.length; k++) {
        const [x, y] = this.at(this.tails[k][i], this.tails[k][pane.agents + i]);
        if (k) context.lineTo(x, y);
        else context.moveTo(x, y);
      }
    }
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {Pane} pane @param {number} width */
  drawAgents(context, pane, width) {
    const spacing = width / Math.sqrt(Math.max(pane.agents, 1));
    const largest = Math.max(1.5, Math.min(7, 0.3 * spacing));
    const { u_max, v_max } = this.scene;
    // one path per look: hundreds of paths are what a browser without a graphics card cannot draw in time
    const looks = { plus: new Path2D(), minus: new Path2D(), rest: new Path2D(), silent: new Path2D(), arrows: new Path2D() };
    for (let i = 0; i < pane.agents; i++) {
      const [x, y] = this.agentAt(pane, i);
      const alive = pane.alive[i] > 0;
      const push = pane.u.length ? pane.u[i] / (u_max ?? 1) : 0;
      const radius = pane.u.length ? largest * (0.45 + 0.55 * Math.abs(push)) : 0.7 * largest;
      if (alive && pane.v.length) {
        const reach = (2.5 * largest) / (v_max ?? 1);
        looks.arrows.moveTo(x, y);
        looks.arrows.lineTo(x + reach * pane.v[i], y - reach * pane.v[pane.agents + i]);
      }
      const look = !alive ? looks.silent : push > 0 ? looks.plus : push < 0 ? looks.minus : looks.rest;
      look.moveTo(x + radius, y);
      look.arc(x, y, radius, 0, 2 * Math.PI);
      if (!alive) {
        look.moveTo(x - radius, y - radius);
        look.lineTo(x + radius, y + radius);
      }
    }
    context.strokeStyle = "#000";
    context.stroke(looks.arrows);
    context.stroke(looks.silent);
    context.strokeStyle = "#fff";
    for (const [look, colour] of /** @type {const} */ ([["plus", "#d1495b"], ["minus", "#3a7ca5"], ["rest", "#fff"]])) {
      context.fillStyle = colour;
      context.fill(looks[look]);
      context.stroke(looks[look]);
    }
  }
}

/**
 * Pieces of the lines on which the target has some share of its range, by marching squares.
 * @param {Scene} scene
 * @returns {[number, number, number, number][]}
 */
function contours({ target, shape: [nx, ny], lengths: [lx, ly], periodic }) {
  const [low, high] = target.reduce(([a, b], z) => [Math.min(a, z), Math.max(b, z)], [Infinity, -Infinity]);
  if (!(high > low)) return [];
  const [dx, dy] = [lx / (periodic ? nx : nx - 1), ly / (periodic ? ny : ny - 1)];
  /** @type {[number, number, number, number][]} */
  const pieces = [];
  for (const share of CONTOURS) {
    const level = low + share * (high - low);
    for (let i = 0; i + 1 < nx; i++) {
      for (let j = 0; j + 1 < ny; j++) {
        const corners = [
          [i, j],
          [i + 1, j],
          [i + 1, j + 1],
          [i, j + 1],
        ];
        /** @type {[number, number][]} */
        const crossings = [];
        for (let k = 0; k < 4; k++) {
          const [[ai, aj], [bi, bj]] = [corners[k], corners[(k + 1) % 4]];
          const [a, b] = [target[ai * ny + aj] - level, target[bi * ny + bj] - level];
          if (a < 0 === b < 0) continue;
          const t = a / (a - b);
          crossings.push([(ai + t * (bi - ai)) * dx, (aj + t * (bj - aj)) * dy]);
        }
        for (let k = 0; k + 1 < crossings.length; k += 2) pieces.push([...crossings[k], ...crossings[k + 1]]);
      }
    }
  }
  return pieces;
}
