import type { Pixels } from './png.ts';

export type Colour = readonly [red: number, green: number, blue: number];

/** The brightness of a point in the unit square, from 0 to 1, for a given density and rotation of the pattern. */
type Pattern = (x: number, y: number, density: number, turn: number) => number;

export const SIDE = 96;

export const PATTERNS: Readonly<Record<string, Pattern>> = {
  rings: (x, y, density, turn) => wave(Math.hypot(x - 0.5, y - 0.5) * density + turn),
  waves: (x, y, density, turn) => wave(y * density + 0.25 * Math.sin(2 * Math.PI * (x * 1.5 + turn))),
  rays: (x, y, density, turn) => wave((Math.atan2(y - 0.5, x - 0.5) / (2 * Math.PI)) * Math.round(density) + turn),
  spiral: (x, y, density, turn) =>
    wave(Math.hypot(x - 0.5, y - 0.5) * density + (Math.atan2(y - 0.5, x - 0.5) / (2 * Math.PI)) * 2 + turn),
  dots: (x, y, density, turn) => {
    const [u, v] = [fraction(x * density * 0.6 + turn) - 0.5, fraction(y * density * 0.6) - 0.5];
    return step(0.36 - Math.hypot(u, v), 0.06);
  },
  weave: (x, y, density, turn) => 0.5 * wave((x + y) * density * 0.6 + turn) + 0.5 * wave((x - y) * density * 0.6),
  tiles: (x, y, density, turn) => {
    const [u, v] = [Math.floor(x * density * 0.8 + turn), Math.floor(y * density * 0.8)];
    return fraction(Math.sin(u * 12.9898 + v * 78.233) * 43_758.5453);
  },
  hills: (x, y, density, turn) => {
    const layers = [0.3, 0.5, 0.7].map((base, index) => {
      const crest = base + 0.1 * Math.sin(2 * Math.PI * (x * (0.4 * density + index) * 0.5 + turn * (index + 1)));
      return step(y - crest, 0.02) * 0.33;
    });
    return layers.reduce((sum, layer) => sum + layer, 0);
  },
};

/** The colors range from the first, where the pattern is dark, to the last. */
export interface Drawing {
  readonly pattern: Pattern;
  readonly colours: readonly Colour[];
  readonly density: number;
  readonly turn: number;
}

export function drawPicture({ pattern, colours, density, turn }: Drawing): Pixels {
  const bytes = new Uint8Array(SIDE * SIDE * 3);
  for (let row = 0; row < SIDE; row += 1) {
    for (let column = 0; column < SIDE; column += 1) {
      const [x, y] = [(column + 0.5) / SIDE, (row + 0.5) / SIDE];
      bytes.set(mix(colours, pattern(x, y, density, turn)), (row * SIDE + column) * 3);
    }
  }
  return { side: SIDE, bytes };
}

function mix(colours: readonly Colour[], brightness: number): Colour {
  const place = Math.min(Math.max(brightness, 0), 1) * (colours.length - 1);
  const [from = BLACK, to = from] = colours.slice(Math.floor(place));
  const share = place - Math.floor(place);
  const channel = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * share);
  return [channel(0), channel(1), channel(2)];
}

const BLACK: Colour = [0, 0, 0];

/** From 0 to 1 and back, once per unit. */
function wave(value: number): number {
  return 0.5 - 0.5 * Math.cos(2 * Math.PI * value);
}

/** 0 below zero, 1 above, with a soft edge. */
function step(value: number, edge: number): number {
  return Math.min(Math.max(value / edge + 0.5, 0), 1);
}

function fraction(value: number): number {
  return value - Math.floor(value);
}
