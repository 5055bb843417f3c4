import { useEffect } from 'preact/hooks';
import type { Load } from '../parts/use-load.ts';

const EVERY_MILLISECONDS = 5000;

/** The same list again every few seconds, while the page can be seen and nobody paused. */
export function useRepeated<Value>(load: Load<Value>, isPaused: boolean): void {
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') load.reload();
    }, EVERY_MILLISECONDS);
    return () => clearInterval(timer);
  }, [isPaused, load.reload]);
}
