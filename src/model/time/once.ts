/** For what must not be given back twice: only the first call does anything. */
export function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}
