/** The positions of points, in the units of the projection. */
export interface Places {
  readonly x: Float64Array;
  readonly y: Float64Array;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The visible part of the map: pixels per unit, and the position of the center. */
export interface Viewport {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

export interface Pixel {
  readonly left: number;
  readonly top: number;
}

const MARGIN = 24;
const ZOOM_MAX = 400;

/** Shows all points. */
export function fitViewport({ x, y }: Places, size: Size): Viewport {
  const [left, right, bottom, top] = [min(x), max(x), min(y), max(y)];
  const [width, height] = [right - left || 1, top - bottom || 1];
  const scale = Math.min((size.width - 2 * MARGIN) / width, (size.height - 2 * MARGIN) / height);
  return { scale: Math.max(scale, Number.MIN_VALUE), x: (left + right) / 2, y: (bottom + top) / 2 };
}

export function toPixel(view: Viewport, { width, height }: Size, x: number, y: number): Pixel {
  return { left: width / 2 + (x - view.x) * view.scale, top: height / 2 - (y - view.y) * view.scale };
}

export function panViewport(view: Viewport, right: number, down: number): Viewport {
  return { ...view, x: view.x - right / view.scale, y: view.y + down / view.scale };
}

/** Keeps the position under the pixel. `whole` is the view of all points, which limits the zoom. */
export function zoomViewport(view: Viewport, size: Size, pixel: Pixel, { factor, whole }: Zoom): Viewport {
  const scale = Math.min(Math.max(view.scale * factor, whole.scale / 2), whole.scale * ZOOM_MAX);
  const [right, down] = [pixel.left - size.width / 2, pixel.top - size.height / 2];
  return {
    scale,
    x: view.x + right / view.scale - right / scale,
    y: view.y - down / view.scale + down / scale,
  };
}

interface Zoom {
  readonly factor: number;
  readonly whole: Viewport;
}

const REACH_PIXELS = 14;

/** The point nearest to a pixel, if one is near. */
export function findPoint(places: Places, view: Viewport, size: Size, pixel: Pixel): number | undefined {
  let [found, best]: [number | undefined, number] = [undefined, REACH_PIXELS ** 2];
  for (let index = 0; index < places.x.length; index += 1) {
    const at = toPixel(view, size, places.x[index] ?? 0, places.y[index] ?? 0);
    const distance = (at.left - pixel.left) ** 2 + (at.top - pixel.top) ** 2;
    if (distance < best) [found, best] = [index, distance];
  }
  return found;
}

function min(values: Float64Array): number {
  return values.reduce((best, value) => Math.min(best, value), Number.POSITIVE_INFINITY);
}

function max(values: Float64Array): number {
  return values.reduce((best, value) => Math.max(best, value), Number.NEGATIVE_INFINITY);
}
