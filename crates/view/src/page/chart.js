// @ts-check
// Errors of both panes over the last steps, on a logarithmic scale.

import { ready, themed } from "./colours.js";

const KEPT = 600;
const LOWEST = 1e-12;

/** @typedef {[number, number][]} Line */

/**
 * Lines on a logarithmic scale.
 * @param {HTMLCanvasElement} canvas
 * @param {[Line, string][]} lines each with the name of its colour
 * @param {(x: number) => string} told what a place on the horizontal axis is called
 */
export function drawLines(canvas, lines, told) {
  const { context, width, height } = ready(canvas, 176);
  const points = lines.flatMap(([line]) => line);
  if (points.length < 2) return;
  const values = points.map(([, y]) => y).filter((y) => y > LOWEST);
  const top = Math.ceil(Math.log10(Math.max(...values, 1e-9)));
  const bottom = Math.min(Math.floor(Math.log10(Math.min(...values, 1))), top - 1);
  const [first, last] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))];
  const across = (/** @type {number} */ x) => 46 + ((x - first) / Math.max(last - first, 1)) * (width - 56);
  const down = (/** @type {number} */ y) =>
    10 + ((top - Math.log10(Math.max(y, LOWEST))) / (top - bottom)) * (height - 34);
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = themed("faint");
  context.strokeStyle = themed("line");
  for (let decade = bottom; decade <= top; decade++) {
    context.beginPath();
    context.moveTo(46, down(10 ** decade));
    context.lineTo(width - 10, down(10 ** decade));
    context.stroke();
    context.fillText(`1e${decade}`, 6, down(10 ** decade) + 4);
  }
  context.fillText(told(first), 46, height - 6);
  context.fillText(told(last), width - 10 - context.measureText(told(last)).width, height - 6);
  context.lineWidth = 2;
  for (const [line, colour] of lines) {
    context.strokeStyle = themed(colour);
    context.beginPath();
    for (const [x, y] of line) context.lineTo(across(x), down(y));
    context.stroke();
  }
  context.lineWidth = 1;
}

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
    const line = (/** @type {1 | 2} */ pane) => this.points.map((point) => /** @type {[number, number]} */ ([point[0], point[pane]]));
    drawLines(this.canvas, [[line(2), "right"], [line(1), "left"]], (step) => `t = ${(step * dt).toPrecision(3)}`);
  }
}
