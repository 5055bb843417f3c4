const LAST_NUMBER = 2n ** 64n - 1n;

/** The engine counts the names of manifests down, so that the newest is listed first. */
export function manifestName(version: number): string {
  return `${String(LAST_NUMBER - BigInt(version)).padStart(20, '0')}.manifest`;
}

/** Names of twenty digits count down; those of old tables are the version itself. Nothing for any other name. */
export function readManifestName(name: string): number | undefined {
  const digits = /^(\d{1,20})\.manifest$/.exec(name)?.[1];
  if (digits === undefined) return undefined;
  return Number(digits.length === 20 ? LAST_NUMBER - BigInt(digits) : BigInt(digits));
}
