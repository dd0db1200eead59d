// @ts-check
// Errors of both panes over the last steps, on a logarithmic scale.

import { ready, themed } from "./colours.js";

const KEPT = 600;
const LOWEST = 1e-12;

export class Chart {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {[number, number, number][]} */
    this.points = [];
  }

  clear() {
    this.points = [];
  }

  /** @param {number} step @param {[number, number]} errors */
  add(step, errors) {
    const last = this.points.at(-1);
    if (last && step < last[0]) this.clear();
    if (!last || step !== last[0]) this.points.push([step, ...errors]);
    if (this.points.length > KEPT) this.points.shift();
  }

  /** @param {number} dt time of a step */
  draw(dt) {
    const { context, width, height } = ready(this.canvas, 176);
    if (this.points.length < 2) return;
    const values = this.points.flatMap(([, a, b]) => [a, b]).filter((x) => x > LOWEST);
    const top = Math.ceil(Math.log10(Math.max(...values, 1e-9)));
    const bottom = Math.min(Math.floor(Math.log10(Math.min(...values, 1))), top - 1);
    const [first, last] = [this.points[0][0], this.points.at(-1)?.[0] ?? 1];
    const x = (/** @type {number} */ step) => 46 + ((step - first) / Math.max(last - first, 1)) * (width - 56);
    const y = (/** @type {number} */ error) =>
      10 + ((top - Math.log10(Math.max(error, LOWEST))) / (top - bottom)) * (height - 34);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = themed("faint");
    context.strokeStyle = themed("line");
    for (let decade = bottom; decade <= top; decade++) {
      context.beginPath();
      context.moveTo(46, y(10 ** decade));
      context.lineTo(width - 10, y(10 ** decade));
      context.stroke();
      context.fillText(`1e${decade}`, 6, y(10 ** decade) + 4);
    }
    context.fillText(`t = ${(first * dt).toPrecision(3)}`, 46, height - 6);
    const end = `${(last * dt).toPrecision(3)}`;
    context.fillText(end, width - 10 - context.measureText(end).width, height - 6);
    for (const [pane, name] of /** @type {const} */ ([[2, "right"], [1, "left"]])) {
      context.strokeStyle = themed(name);
      context.lineWidth = 2;
      context.beginPath();
      for (const point of this.points) context.lineTo(x(point[0]), y(point[pane]));
      context.stroke();
      context.lineWidth = 1;
    }
  }
}
