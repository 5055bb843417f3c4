import { useEffect, useState } from 'preact/hooks';

/** As many rows as a large screen has. */
const FIRST = 28;
const STEP = 36;

/** How many of `total` rows to draw: those of the first screen at once, the others after it is painted. */
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
