import type { Pixels } from './png.ts';

const GRID = 3;
const HUES = 12;
const DIRECTIONS = 8;

/**
 * The length of a vector: mean colors of a grid, the frequency of each hue, the strength of the edges in each
 * direction.
 */
export const VECTOR_LENGTH = GRID * GRID * 3 + HUES + DIRECTIONS;

/** Pictures that look alike have vectors with a small distance. The vectors have length 1. */
export function toVector(pixels: Pixels): readonly number[] {
  return normalize([...meanColours(pixels), ...normalize(hues(pixels)), ...normalize(edges(pixels))]);
}

function meanColours({ side, bytes }: Pixels): number[] {
  const sums = Array.from({ length: GRID * GRID * 3 }, () => 0);
  for (let pixel = 0; pixel < side * side; pixel += 1) {
    const [row, column] = [Math.floor(pixel / side), pixel % side];
    const cell = Math.floor((row * GRID) / side) * GRID + Math.floor((column * GRID) / side);
    for (let channel = 0; channel < 3; channel += 1) {
      sums[cell * 3 + channel] = (sums[cell * 3 + channel] ?? 0) + (bytes[pixel * 3 + channel] ?? 0);
    }
  }
  const scale = (side * side * 255) / (GRID * GRID);
  return sums.map((sum) => sum / scale / GRID);
}

/** Weighted by saturation, because gray has no hue. */
function hues({ bytes }: Pixels): number[] {
  const counts = Array.from({ length: HUES }, () => 0);
  for (let index = 0; index < bytes.length; index += 3) {
    const [red, green, blue] = [bytes[index] ?? 0, bytes[index + 1] ?? 0, bytes[index + 2] ?? 0];
    const [low, high] = [Math.min(red, green, blue), Math.max(red, green, blue)];
    if (high === low) continue;
    const angle = Math.atan2(Math.sqrt(3) * (green - blue), 2 * red - green - blue) / (2 * Math.PI);
    const hue = Math.floor((angle + 1) * HUES) % HUES;
    counts[hue] = (counts[hue] ?? 0) + (high - low);
  }
  return counts;
}

function edges({ side, bytes }: Pixels): number[] {
  const sums = Array.from({ length: DIRECTIONS }, () => 0);
  const light = (row: number, column: number): number => {
    const at = (row * side + column) * 3;
    return (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) + (bytes[at + 2] ?? 0);
  };
  for (let row = 1; row < side; row += 1) {
    for (let column = 1; column < side; column += 1) {
      const right = light(row, column) - light(row, column - 1);
      const down = light(row, column) - light(row - 1, column);
      const direction = Math.floor((Math.atan2(down, right) / Math.PI + 1) * DIRECTIONS) % DIRECTIONS;
      sums[direction] = (sums[direction] ?? 0) + Math.hypot(right, down);
    }
  }
  return sums;
}

function normalize(values: readonly number[]): number[] {
  const length = Math.hypot(...values);
  return length === 0 ? [...values] : values.map((value) => value / length);
}
