import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { useDraft } from '../parts/use-load.ts';
import { drawMap } from './draw-map.ts';
import type { Scene } from './draw-map.ts';
import { findPoint, fitViewport, panViewport, toPixel, zoomViewport } from './viewport.ts';
import type { Pixel, Size, Viewport } from './viewport.ts';

interface MapCanvasProps {
  readonly scene: Omit<Scene, 'hovered'>;
  readonly label: string;
  readonly onSelect: (index: number | undefined) => void;
  /** What to show next to a point under the pointer. */
  readonly tooltip: (index: number) => JSX.Element;
}

const ZOOM_STEP = 1.6;
const DRAG_PIXELS_MIN = 4;

/** Points on a canvas: drag to pan, wheel or buttons to zoom, click to select. */
export function MapCanvas({ scene, label, onSelect, tooltip }: MapCanvasProps): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(canvas);
  useTheme();
  const whole = useMemo(() => fitViewport(scene.places, size), [scene.places, size]);
  const [moved, setMoved] = useDraft<Viewport | undefined>(undefined, scene.places);
  const [hovered, setHovered] = useDraft<number | undefined>(undefined, scene.places);
  const view = moved ?? whole;
  useLayoutEffect(() => {
    if (canvas.current !== null) drawMap(canvas.current, { ...scene, hovered }, view, size);
  });
  const zoom = (factor: number, pixel: Pixel = { left: size.width / 2, top: size.height / 2 }): void =>
    setMoved(zoomViewport(view, size, pixel, { factor, whole }));
  useWheel(canvas, zoom);
  const onPointerDown = (event: PointerEvent): void => {
    drag(event, view, setMoved, () => onSelect(findPoint(scene.places, view, size, pixelOf(event))));
  };
  const at =
    hovered === undefined ? undefined : toPixel(view, size, scene.places.x[hovered] ?? 0, scene.places.y[hovered] ?? 0);
  return (
    <div class="map-frame">
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        class={hovered === undefined ? '' : 'over'}
        onPointerDown={onPointerDown}
        onPointerMove={(event) => setHovered(findPoint(scene.places, view, size, pixelOf(event)))}
        onPointerLeave={() => setHovered(undefined)}
      />
      <div class="map-buttons" role="group" aria-label="Zoom">
        <Button icon="add" label="Zoom in" onClick={() => zoom(ZOOM_STEP)} />
        <Button icon="minus" label="Zoom out" onClick={() => zoom(1 / ZOOM_STEP)} />
        <Button icon="refresh" label="Show all points" onClick={() => setMoved(undefined)} />
      </div>
      {hovered === undefined || at === undefined ? null : (
        <div class={`map-tip ${at.left > size.width / 2 ? 'left' : 'right'}`} style={tipStyle(at, size)}>
          {tooltip(hovered)}
        </div>
      )}
    </div>
  );
}

const TIP_GAP = 12;

function tipStyle({ left, top }: Pixel, { width, height }: Size): Record<string, string> {
  return {
    ...(left > width / 2 ? { right: `${width - left + TIP_GAP}px` } : { left: `${left + TIP_GAP}px` }),
    ...(top > height / 2 ? { bottom: `${height - top}px` } : { top: `${top}px` }),
  };
}

function pixelOf({ offsetX, offsetY }: { readonly offsetX: number; readonly offsetY: number }): Pixel {
  return { left: offsetX, top: offsetY };
}

/** Pans while the pointer is down; a press without movement is a click. */
function drag(event: PointerEvent, view: Viewport, onPan: (view: Viewport) => void, onClick: () => void): void {
  if (event.button !== 0) return;
  let isMoved = false;
  const move = (each: PointerEvent): void => {
    const [right, down] = [each.clientX - event.clientX, each.clientY - event.clientY];
    isMoved ||= Math.hypot(right, down) >= DRAG_PIXELS_MIN;
    if (isMoved) onPan(panViewport(view, right, down));
  };
  const stop = (each: PointerEvent): void => {
    removeEventListener('pointermove', move);
    removeEventListener('pointerup', stop);
    removeEventListener('pointercancel', stop);
    if (!isMoved && each.type === 'pointerup') onClick();
  };
  addEventListener('pointermove', move);
  addEventListener('pointerup', stop);
  addEventListener('pointercancel', stop);
}

/** Not set as a property of the element, because such listeners cannot prevent scrolling. */
function useWheel(canvas: { current: HTMLCanvasElement | null }, zoom: (factor: number, pixel: Pixel) => void): void {
  const latest = useRef(zoom);
  latest.current = zoom;
  useEffect(() => {
    const element = canvas.current;
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      latest.current(Math.exp(-event.deltaY / 400), pixelOf(event));
    };
    element?.addEventListener('wheel', onWheel, { passive: false });
    return () => element?.removeEventListener('wheel', onWheel);
  }, []);
}

/** Redraws with the colors of another theme. */
function useTheme(): void {
  const [, setRound] = useState(0);
  useEffect(() => {
    const redraw = (): void => setRound((before) => before + 1);
    const system = matchMedia('(prefers-color-scheme: dark)');
    const observer = new MutationObserver(redraw);
    system.addEventListener('change', redraw);
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      system.removeEventListener('change', redraw);
      observer.disconnect();
    };
  }, []);
}

function useSize(canvas: { current: HTMLCanvasElement | null }): Size {
  const [size, setSize] = useState<Size>({ width: 600, height: 400 });
  useLayoutEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const measure = (): void => setSize({ width: element.clientWidth, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return size;
}
