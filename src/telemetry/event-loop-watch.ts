const SAMPLE_MILLISECONDS = 100;

export interface EventLoopWatch {
  close(): void;
}

/** Tells how late a timer came: whatever keeps the event loop busy keeps every request waiting as long. */
export function watchEventLoop(onDelay: (milliseconds: number) => void): EventLoopWatch {
  let dueAt = performance.now() + SAMPLE_MILLISECONDS;
  const timer = setInterval(() => {
    const now = performance.now();
    onDelay(Math.max(0, now - dueAt));
    dueAt = now + SAMPLE_MILLISECONDS;
  }, SAMPLE_MILLISECONDS);
  timer.unref();
  return { close: () => clearInterval(timer) };
}
