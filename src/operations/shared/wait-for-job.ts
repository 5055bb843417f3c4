/**
 * How long a caller wants to wait for a result before it is told where to ask for it (RFC 7240, sections 4.1 and 4.3):
 * `respond-async` alone means not at all, `wait=10` ten seconds; never longer than the service allows.
 */
export function readPreferredWait(prefer: string | undefined, secondsMax: number): number {
  const preferences = (prefer ?? '').split(',').map((part) => part.trim().toLowerCase());
  const wait = preferences
    .map((part) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(part)?.[1])
    .find((found) => found !== undefined);
  if (wait !== undefined) return Math.min(Number(wait), secondsMax);
  return preferences.includes('respond-async') ? 0 : secondsMax;
}

/** `undefined` when it takes longer: it goes on by itself. */
export async function waitFor<Value>(outcome: Promise<Value>, seconds: number): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), seconds * 1000);
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}
