import type { Engine } from './engine.ts';

/** Told of each call of the engine that ends, such as `rows.query`. */
export type CallWatcher = (call: string, startedAt: number, endedAt: number) => void;

/** The same engine; each call that takes time is told to the watcher. */
export function watchEngine(engine: Engine, onCall: CallWatcher): Engine {
  return watchCalls(engine, '', onCall);
}

const FAMILIES: ReadonlySet<PropertyKey> = new Set<keyof Engine>([
  'versions',
  'rows',
  'lifecycle',
  'indexes',
  'commits',
  'maintenance',
]);

type Call = (...given: unknown[]) => unknown;

/** Wrappers are made once for each name, so that a call costs two readings of the clock. */
function watchCalls<Family extends object>(family: Family, prefix: string, onCall: CallWatcher): Family {
  const known = new Map<PropertyKey, unknown>();
  return new Proxy(family, {
    get(target, key) {
      const found = known.get(key);
      if (found !== undefined) return found;
      const value: unknown = Reflect.get(target, key);
      const watched = watchMember(target, value, { key, prefix, onCall });
      known.set(key, watched);
      return watched;
    },
  });
}

interface Member {
  readonly key: PropertyKey;
  readonly prefix: string;
  readonly onCall: CallWatcher;
}

function watchMember(target: object, value: unknown, { key, prefix, onCall }: Member): unknown {
  if (FAMILIES.has(key) && typeof value === 'object' && value !== null) {
    return watchCalls(value, `${String(key)}.`, onCall);
  }
  if (typeof value !== 'function') return value;
  const name = `${prefix}${String(key)}`;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The members of the engine are plain methods.
  const call = value as Call;
  return (...given: unknown[]) => {
    const startedAt = performance.now();
    const result = call.apply(target, given);
    if (result instanceof Promise) {
      const end = (): void => onCall(name, startedAt, performance.now());
      result.then(end, end);
    }
    return result;
  };
}
