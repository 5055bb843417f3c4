import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';

export interface Window {
  readonly first: number;
  /** The index behind the last. */
  readonly end: number;
}

const MARGIN_ROWS = 8;

/** Which rows of equal height can be seen in a box that scrolls; only those need to be drawn. */
export function useWindow(box: RefObject<HTMLElement | null>, count: number, rowHeight: number): Window {
  const [place, setPlace] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const measure = (): void => setPlace({ top: element.scrollTop, height: element.clientHeight });
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, [box]);
  const first = Math.max(0, Math.floor(place.top / rowHeight) - MARGIN_ROWS);
  const end = Math.min(count, Math.ceil((place.top + place.height) / rowHeight) + MARGIN_ROWS);
  return { first: Math.min(first, end), end };
}
