// @ts-check
// A field in one dimension: the curve over its target with the agents on it, and a map of what was.

import { painter, ready, themed } from "./colours.js";

/** @typedef {import("./protocol.js").Scene} Scene @typedef {import("./protocol.js").Pane} Pane */

const HISTORY = 240;

export class LineView {
  /** @param {HTMLCanvasElement} canvas @param {Scene} scene */
  constructor(canvas, scene) {
    this.canvas = canvas;
    this.scene = scene;
    this.map = document.createElement("canvas");
    [this.map.width, this.map.height] = [scene.shape[0], HISTORY];
    this.image = new ImageData(scene.shape[0], HISTORY);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.paint = painter(scene.positive, 1.1 * scene.scale);
    this.step = -1;
    // height of the curve's part, in units of the field
    this.size = 1.25 * scene.scale;
  }

  get height() {
    return Math.max(220, Math.min(0.72 * this.canvas.clientWidth, 420));
  }

  /** Height of the curve's part. */
  get curve() {
    return 0.55 * this.height;
  }

  /** A place of the domain as a place of the canvas, and back. @param {number} x */
  across(x) {
    return (x / this.scene.lengths[0]) * this.canvas.clientWidth;
  }

  /** @param {number} px @returns {[number, number]} */
  place(px) {
    return [Math.min(Math.max(px / this.canvas.clientWidth, 0), 1) * this.scene.lengths[0], 0];
  }

  /** Where an agent is drawn. @param {Pane} pane @param {number} agent @returns {[number, number]} */
  agentAt(pane, agent) {
    return [this.across(pane.xi[agent]), this.up(this.value(pane, pane.xi[agent]))];
  }

  /** @param {number} z */
  up(z) {
    const { positive } = this.scene;
    const { size } = this;
    const share = positive ? z / size : (z + size) / (2 * size);
    return this.curve - 10 - Math.min(Math.max(share, -0.02), 1.02) * (this.curve - 20);
  }

  /** @param {Pane} pane @param {number} x */
  value(pane, x) {
    const n = pane.z.length;
    const cells = this.scene.periodic ? n : n - 1;
    return pane.z[Math.min(Math.max(Math.round((x / this.scene.lengths[0]) * cells), 0), n - 1)];
  }

  /** @param {Pane} pane @param {number} step @param {string} colour @param {[number, number] | null} cross */
  draw(pane, step, colour, cross) {
    this.remember(pane.z, step);
    const largest = pane.z.reduce((most, z) => Math.max(most, Math.abs(z)), 0);
    this.size = Math.min(Math.max(1.25 * this.scene.scale, 1.08 * largest), 1e6);
    const { context, width, height } = ready(this.canvas, this.height);
    context.strokeStyle = themed("line");
    context.beginPath();
    context.moveTo(0, this.up(0));
    context.lineTo(width, this.up(0));
    context.stroke();
    if (this.scene.tracks) this.line(context, this.scene.target, themed("faint"), [5, 4]);
    this.line(context, pane.z, colour, []);
    this.agents(context, pane);
    this.drawMap(context, pane, width, height);
    if (cross) {
      context.strokeStyle = themed("ink");
      context.beginPath();
      context.moveTo(this.across(cross[0]), 0);
      context.lineTo(this.across(cross[0]), this.curve);
      context.stroke();
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {ArrayLike<number>} z @param {string} colour @param {number[]} dash */
  line(context, z, colour, dash) {
    const cells = this.scene.periodic ? z.length : z.length - 1;
    context.strokeStyle = colour;
    context.lineWidth = dash.length ? 1.5 : 2;
    context.setLineDash(dash);
    context.beginPath();
    for (let i = 0; i < z.length; i++) context.lineTo((i / cells) * this.canvas.clientWidth, this.up(z[i]));
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  /** @param {CanvasRenderingContext2D} context @param {Pane} pane */
  agents(context, pane) {
    const radius = Math.max(1.5, Math.min(5, 200 / Math.max(pane.agents, 1)));
    // one path per look: thousands of paths are too many for a browser without a graphics card
    const looks = { plus: new Path2D(), minus: new Path2D(), alive: new Path2D(), silent: new Path2D() };
    for (let i = 0; i < pane.agents; i++) {
      const [x, y] = this.agentAt(pane, i);
      const alive = pane.alive[i] > 0;
      const push = pane.u.length ? pane.u[i] / (this.scene.u_max ?? 1) : 0;
      if (alive && push) {
        const bar = push > 0 ? looks.plus : looks.minus;
        bar.moveTo(x, y);
        bar.lineTo(x, y - 0.35 * this.curve * push);
      }
      const disc = alive ? looks.alive : looks.silent;
      disc.moveTo(x + radius, y);
      disc.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.strokeStyle = "#d1495b";
    context.stroke(looks.plus);
    context.strokeStyle = "#3a7ca5";
    context.stroke(looks.minus);
    context.fillStyle = context.strokeStyle = themed("agent");
    context.fill(looks.alive);
    context.stroke(looks.alive);
    context.stroke(looks.silent);
  }

  /** Adds a row to the map of what was. @param {Float32Array} z @param {number} step */
  remember(z, step) {
    if (step === this.step) return;
    if (step < this.step) this.pixels.fill(0);
    this.step = step;
    const n = z.length;
    this.pixels.copyWithin(0, n);
    for (let i = 0; i < n; i++) this.pixels[(HISTORY - 1) * n + i] = this.paint(z[i]);
  }

  /** @param {CanvasRenderingContext2D} context @param {Pane} pane @param {number} width @param {number} height */
  drawMap(context, pane, width, height) {
    /** @type {CanvasRenderingContext2D} */ (this.map.getContext("2d")).putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = true;
    context.drawImage(this.map, 0, this.curve, width, height - this.curve);
    const feet = new Path2D();
    for (let i = 0; i < pane.agents; i++) {
      if (pane.alive[i] > 0) feet.rect(this.across(pane.xi[i]) - 1, height - 5, 2, 5);
    }
    context.fillStyle = themed("agent");
    context.fill(feet);
  }
}
