import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';

export interface Window {
  readonly first: number;
  /** Exclusive. */
  readonly end: number;
}

const MARGIN_ROWS = 8;

/** Virtual scrolling: the visible range of rows of equal height. */
export function useWindow(box: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [scroll, setScroll] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setScroll({ top: element.scrollTop, height: element.clientHeight });
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [box]);
  const first = Math.max(0, Math.floor(scroll.top / rowHeight) - MARGIN_ROWS);
  const end = Math.min(count, Math.ceil((scroll.top + scroll.height) / rowHeight) + MARGIN_ROWS);
  return { first: Math.min(first, end), end };
}

/** The same as `--tree-row` in the style sheet: taller on touch screens. */
const ROW_HEIGHT = 28;
const TOUCH_ROW_HEIGHT = 44;
const TOUCH = matchMedia('(max-width: 720px), (pointer: coarse)');

export function useRowHeight(): number {
  const [isTouch, setIsTouch] = useState(TOUCH.matches);
  useEffect(() => {
    const onChange = (): void => setIsTouch(TOUCH.matches);
    TOUCH.addEventListener('change', onChange);
    return () => TOUCH.removeEventListener('change', onChange);
  }, []);
  return isTouch ? TOUCH_ROW_HEIGHT : ROW_HEIGHT;
}
