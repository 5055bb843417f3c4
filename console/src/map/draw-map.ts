import { toPixel } from './viewport.ts';
import type { Places, Size, Viewport } from './viewport.ts';

export interface Scene {
  readonly places: Places;
  readonly colours: readonly string[];
  readonly selected: number | undefined;
  readonly hovered: number | undefined;
  /** Sampled points that are neighbors of the selected one. */
  readonly neighbours: ReadonlySet<number>;
  /** Neighbors outside the sample. */
  readonly others: Places;
}

interface Ink {
  readonly ink: string;
  readonly accent: string;
}

const FEW_POINTS = 600;

export function drawMap(canvas: HTMLCanvasElement, scene: Scene, view: Viewport, size: Size): void {
  const context = canvas.getContext('2d');
  if (context === null) return;
  const ratio = window.devicePixelRatio;
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  context.scale(ratio, ratio);
  const { places, colours, selected, neighbours } = scene;
  const radius = colours.length <= FEW_POINTS ? 4.5 : 3;
  const isFocused = selected !== undefined;
  context.globalAlpha = isFocused ? 0.25 : 0.8;
  for (const [index, colour] of colours.entries()) {
    if (neighbours.has(index) || index === selected) continue;
    circle(context, toPixel(view, size, places.x[index] ?? 0, places.y[index] ?? 0), radius);
    context.fillStyle = colour;
    context.fill();
  }
  context.globalAlpha = 1;
  drawMarked(context, scene, { view, size, radius, ink: inkOf(canvas) });
}

interface Drawing {
  readonly view: Viewport;
  readonly size: Size;
  readonly radius: number;
  readonly ink: Ink;
}

function drawMarked(context: CanvasRenderingContext2D, scene: Scene, { view, size, radius, ink }: Drawing): void {
  const { places, colours, others } = scene;
  const mark = (index: number, wider: number, stroke: string): void => {
    circle(context, toPixel(view, size, places.x[index] ?? 0, places.y[index] ?? 0), radius + wider);
    context.fillStyle = colours[index] ?? stroke;
    context.fill();
    outline(context, stroke);
  };
  for (let index = 0; index < others.x.length; index += 1) {
    circle(context, toPixel(view, size, others.x[index] ?? 0, others.y[index] ?? 0), radius + 1);
    outline(context, ink.ink);
  }
  for (const index of scene.neighbours) mark(index, 1, ink.ink);
  if (scene.selected !== undefined) mark(scene.selected, 3, ink.accent);
  if (scene.hovered !== undefined && scene.hovered !== scene.selected) mark(scene.hovered, 2, ink.accent);
}

function circle(context: CanvasRenderingContext2D, { left, top }: { left: number; top: number }, radius: number): void {
  context.beginPath();
  context.arc(left, top, radius, 0, 2 * Math.PI);
}

function outline(context: CanvasRenderingContext2D, stroke: string): void {
  context.lineWidth = 2;
  context.strokeStyle = stroke;
  context.stroke();
}

/** Style sheets do not apply inside a canvas, so its own color properties carry those of the theme. */
function inkOf(canvas: HTMLCanvasElement): Ink {
  const { color, outlineColor } = getComputedStyle(canvas);
  return { ink: color, accent: outlineColor };
}
