import type { Engine } from './engine.ts';

/** Called when an engine call, such as `rows.query`, has ended. */
type CallWatcher = (call: string, startedAt: number, endedAt: number) => void;

/** Wraps the engine so that the watcher sees each asynchronous call. */
export function watchEngine(engine: Engine, onCall: CallWatcher): Engine {
  return watchCalls(engine, '', onCall);
}

type Call = (...given: unknown[]) => unknown;

/** Wrappers are created once per name, so a call only costs two clock readings. */
function watchCalls<Family extends object>(family: Family, prefix: string, onCall: CallWatcher): Family {
  const known = new Map<PropertyKey, unknown>();
  return new Proxy(family, {
    get(target, key) {
      const member = known.get(key) ?? watchMember(target, key, prefix, onCall);
      known.set(key, member);
      return member;
    },
  });
}

function watchMember(target: object, key: PropertyKey, prefix: string, onCall: CallWatcher): unknown {
  const value: unknown = Reflect.get(target, key);
  const name = `${prefix}${String(key)}`;
  // The public fields of the engine are its groups of calls.
  if (prefix === '' && typeof value === 'object' && value !== null) return watchCalls(value, `${name}.`, onCall);
  if (typeof value !== 'function') return value;
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
