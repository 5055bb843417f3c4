import { loadNative } from '../../src/engine/native.ts';
import type { NativeConnection, NativeEngine, NativeTable } from '../../src/engine/native.ts';

type Update = NativeTable['update'];

/** What happens around an update of the engine: it may be delayed, and its answer may be lost. */
export type AroundUpdate = (update: () => ReturnType<Update>) => ReturnType<Update>;

/** The engine, with something of the test's own around every update that goes through it. */
export function watchUpdates(around: AroundUpdate): NativeEngine {
  const native = loadNative();
  const connect: NativeEngine['Connection']['new'] = async (uri, options) =>
    withMethod(await native.Connection.new(uri, options), 'openTable', (connection) => async (...args) => {
      const table = await connection.openTable(...args);
      return withMethod(
        table,
        'update',
        (real) =>
          async (...update) =>
            around(async () => real.update(...update)),
      );
    });
  return { ...native, Connection: { new: connect } };
}

/** The same object but for one method. Native objects do not take calls through another `this`. */
function withMethod<Owner extends NativeConnection | NativeTable, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  replace: (owner: Owner) => Owner[Name],
): Owner {
  return new Proxy(owner, {
    get(target, property) {
      if (property === name) return replace(target);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
