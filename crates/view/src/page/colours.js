// @ts-check
// The colour maps of the figures, defined in Oklch, where equal steps look equal.

const LEVELS = 256;

/** @param {number[]} knots @param {number} t */
function interpolate(knots, t) {
  const left = Math.min(Math.floor(4 * t), 3);
  return knots[left] + (4 * t - left) * (knots[left + 1] - knots[left]);
}

/** Oklch to sRGB, by the matrices of B. Ottosson (2020). @param {number} lightness @param {number} chroma @param {number} hue */
function fromOklch(lightness, chroma, hue) {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const gamma = (/** @type {number} */ x) => {
    const linear = Math.min(Math.max(x, 0), 1);
    return Math.round(255 * (linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055));
  };
  return [
    gamma(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    gamma(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    gamma(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** @param {(t: number) => number[]} colour */
function table(colour) {
  // a pixel as a canvas keeps it: red in the lowest byte
  const pixels = new Uint32Array(LEVELS);
  for (let i = 0; i < LEVELS; i++) {
    const [red, green, blue] = colour(i / (LEVELS - 1));
    pixels[i] = (255 << 24) | (blue << 16) | (green << 8) | red;
  }
  return pixels;
}

const SEQUENTIAL = table((t) =>
  fromOklch(
    0.27 + 0.65 * t,
    interpolate([0.125, 0.11, 0.088, 0.128, 0.185], t),
    interpolate([318, 268, 206, 152, 107], t),
  ),
);
const DIVERGING = table((t) => {
  const distance = Math.abs(2 * t - 1);
  return fromOklch(0.97 - 0.57 * distance, 0.16 * distance * (2 - distance), t < 0.5 ? 260 : 25);
});

/**
 * From a number of the field to a pixel.
 * @param {boolean} positive whether the field is never negative
 * @param {number} scale its size
 * @returns {(z: number) => number}
 */
export function painter(positive, scale) {
  const [pixels, offset, factor] = positive
    ? [SEQUENTIAL, 0, (LEVELS - 1) / scale]
    : [DIVERGING, (LEVELS - 1) / 2, (LEVELS - 1) / (2 * scale)];
  return (z) => pixels[Math.min(Math.max(Math.round(offset + factor * z), 0), LEVELS - 1)];
}

/** A colour of the style sheet. @param {string} name */
export function themed(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/**
 * The drawing context of a canvas whose pixels are those of the screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} height of the canvas in CSS pixels
 */
export function ready(canvas, height) {
  const [ratio, width] = [window.devicePixelRatio || 1, canvas.clientWidth];
  const [w, h] = [Math.max(1, Math.round(ratio * width)), Math.max(1, Math.round(ratio * height))];
  if (canvas.width !== w || canvas.height !== h) {
    [canvas.width, canvas.height] = [w, h];
    canvas.style.height = `${height}px`;
  }
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}
