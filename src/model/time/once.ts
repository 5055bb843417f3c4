/** For releases that must not happen twice: only the first call has an effect. */
export function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    run();
  };
}
