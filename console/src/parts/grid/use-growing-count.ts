import { useEffect, useState } from 'preact/hooks';

/** The number of rows on a large screen. */
const FIRST = 28;
const STEP = 36;

/** How many of `total` rows to draw: the first screen immediately, the others after it is painted. */
export function useGrowingCount(total: number): number {
  const [count, setCount] = useState(FIRST);
  useEffect(() => {
    if (count >= total) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(() => setCount(count + STEP));
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [count, total]);
  return Math.min(count, total);
}
