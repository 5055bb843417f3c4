const FIRST_MILLISECONDS = 50;
const LONGEST_MILLISECONDS = 2000;

/**
 * How long to wait before the next worker. `youngDeaths` counts the workers in a row, the last one included, that died
 * before their engine had answered once: a worker that served before it died is replaced without delay.
 */
export function restartWaitMilliseconds(youngDeaths: number): number {
  const doublings = Math.min(Math.max(youngDeaths - 1, 0), 16);
  return Math.min(FIRST_MILLISECONDS * 2 ** doublings, LONGEST_MILLISECONDS);
}
