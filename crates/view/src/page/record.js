// @ts-check
// An animation of what the page shows, as a GIF: 252 fixed colours, compressed by LZW.

const LEVELS = [6, 7, 6];

function palette() {
  const bytes = new Uint8Array(3 * 256);
  let at = 0;
  for (let r = 0; r < LEVELS[0]; r++) {
    for (let g = 0; g < LEVELS[1]; g++) {
      for (let b = 0; b < LEVELS[2]; b++) {
        bytes.set([r, g, b].map((level, k) => Math.round((255 * level) / (LEVELS[k] - 1))), at);
        at += 3;
      }
    }
  }
  return bytes;
}

/** @param {ImageData} image */
function indexed(image) {
  const { data } = image;
  const pixels = new Uint8Array(data.length / 4);
  const level = (/** @type {number} */ value, /** @type {number} */ k) => Math.round((value / 255) * (LEVELS[k] - 1));
  for (let i = 0; i < pixels.length; i++) {
    const at = 4 * i;
    pixels[i] = (level(data[at], 0) * LEVELS[1] + level(data[at + 1], 1)) * LEVELS[2] + level(data[at + 2], 2);
  }
  return pixels;
}

/** LZW with codes of 9 to 12 bits, in blocks of 255 bytes. @param {Uint8Array} pixels */
function compressed(pixels) {
  const [clear, end] = [256, 257];
  /** @type {number[]} */
  const bytes = [];
  let [bits, filled] = [0, 0];
  let [size, next] = [9, 258];
  /** @type {Map<number, number>} */
  let table = new Map();
  const put = (/** @type {number} */ code) => {
    bits |= code << filled;
    filled += size;
    while (filled >= 8) {
      bytes.push(bits & 255);
      bits >>>= 8;
      filled -= 8;
    }
  };
  put(clear);
  let prefix = pixels[0];
  for (let i = 1; i < pixels.length; i++) {
    const key = (prefix << 8) | pixels[i];
    const known = table.get(key);
    if (known !== undefined) {
      prefix = known;
      continue;
    }
    put(prefix);
    table.set(key, next);
    if (next === 1 << size && size < 12) size++;
    next++;
    if (next === 4096) {
      put(clear);
      [size, next] = [9, 258];
      table = new Map();
    }
    prefix = pixels[i];
  }
  put(prefix);
  put(end);
  if (filled) bytes.push(bits & 255);
  const blocks = [8];
  for (let at = 0; at < bytes.length; at += 255) {
    const block = bytes.slice(at, at + 255);
    blocks.push(block.length, ...block);
  }
  blocks.push(0);
  return new Uint8Array(blocks);
}

/** Frames of a GIF, added one by one. */
export class Gif {
  /** @param {number} width @param {number} height @param {number} hundredths time of a frame */
  constructor(width, height, hundredths) {
    const short = (/** @type {number} */ n) => [n & 255, n >> 8];
    this.size = { width, height };
    this.frameHead = [0x21, 0xf9, 4, 4, ...short(hundredths), 0, 0, 0x2c, 0, 0, 0, 0, ...short(width), ...short(height), 0];
    const text = (/** @type {string} */ s) => [...s].map((c) => c.charCodeAt(0));
    /** @type {Uint8Array<ArrayBuffer>[]} */
    this.parts = [
      new Uint8Array([...text("GIF89a"), ...short(width), ...short(height), 0xf7, 0, 0]),
      palette(),
      // repeat for ever
      new Uint8Array([0x21, 0xff, 11, ...text("NETSCAPE2.0"), 3, 1, 0, 0, 0]),
    ];
    this.frames = 0;
  }

  /** @param {ImageData} image */
  add(image) {
    this.parts.push(new Uint8Array(this.frameHead), compressed(indexed(image)));
    this.frames++;
  }

  finish() {
    return new Blob([...this.parts, new Uint8Array([0x3b])], { type: "image/gif" });
  }
}

/** Saves a file. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
