import { setImmediate } from 'node:timers/promises';
import { createLocalJWKSet, errors } from 'jose';
import type { JWK } from 'jose';

export interface UsableKeys {
  readonly usable: readonly JWK[];
  /** Keys that cannot be read; those of other uses and algorithms are normal. */
  readonly broken: readonly string[];
  /** Why each of the other keys cannot be used. */
  readonly faults: readonly string[];
}

interface KeyFault {
  readonly reason: string;
  readonly isBroken: boolean;
}

/** RFC 7517, section 5: a key that its reader does not understand is ignored, not the set. */
export async function selectUsableKeys(keys: readonly unknown[], algorithms: readonly string[]): Promise<UsableKeys> {
  const usable: JWK[] = [];
  const broken: string[] = [];
  const faults: string[] = [];
  for (const [index, key] of keys.entries()) {
    // Reading a key occupies the event loop.
    await setImmediate();
    const fault = await findFault(key, algorithms);
    if (fault === undefined) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The library has read it as a key.
      usable.push(key as JWK);
      continue;
    }
    const text = `key ${index + 1} ${fault.reason}`;
    faults.push(text);
    if (fault.isBroken) broken.push(text);
  }
  return { usable, broken, faults };
}

const NAMED_MAX = 3;

/** The first ones, and how many more there are. */
export function summarizeFaults(faults: readonly string[]): string {
  const named = faults.slice(0, NAMED_MAX);
  const more = faults.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join('; ');
}

async function findFault(key: unknown, algorithms: readonly string[]): Promise<KeyFault | undefined> {
  if (typeof key !== 'object' || key === null || Array.isArray(key)) {
    return { reason: 'is not a JSON object', isBroken: true };
  }
  let fault: KeyFault = { reason: `is for none of the algorithms ${algorithms.join(', ')}`, isBroken: false };
  try {
    const match = createLocalJWKSet({ keys: [key] });
    for (const alg of algorithms) {
      try {
        await match({ alg });
        return undefined;
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) fault = toFault(error);
      }
    }
    return fault;
  } catch (error) {
    return toFault(error);
  }
}

function toFault(error: unknown): KeyFault {
  return { reason: `cannot be read (${error instanceof Error ? error.message : String(error)})`, isBroken: true };
}
