import { loadNative } from '../../src/engine/native/native.ts';
import type {
  NativeBatches,
  NativeBranches,
  NativeConnection,
  NativeEngine,
  NativeQuery,
  NativeTable,
} from '../../src/engine/native/native.ts';

const WATCHED = [
  'add',
  'update',
  'delete',
  'restore',
  'addColumns',
  'dropColumns',
  'createIndex',
  'dropIndex',
  'optimize',
] as const;

type Watched = (typeof WATCHED)[number];

/** What happens around a call of the engine: it may be delayed, and its reply may be lost. */
export type AroundCall = <Reply>(call: () => Promise<Reply>, name: Watched) => Promise<Reply>;

/** The engine, with something of the test's own around every commit to the main branch of a table. */
export function watchCommits(around: AroundCall, native = loadNative()): NativeEngine {
  const connect: NativeEngine['Connection']['new'] = async (uri, options) =>
    watchConnection(await native.Connection.new(uri, options), around);
  return { ...native, Connection: { new: connect } };
}

/** Counts how often a table is opened. */
export function countOpens(): { readonly native: NativeEngine; opens: number } {
  const native = loadNative();
  const connect: NativeEngine['Connection']['new'] = async (uri, options) => {
    const connection = await native.Connection.new(uri, options);
    const openTable: NativeConnection['openTable'] = async (...args) => {
      counted.opens += 1;
      return connection.openTable(...args);
    };
    return replaceMethods(connection, { openTable });
  };
  const counted = { opens: 0, native: { ...native, Connection: { new: connect } } };
  return counted;
}

/** Something happens between the opening of a version or a branch and what is then done with it. */
export function afterCheckout(happen: () => Promise<void>, native = loadNative()): NativeEngine {
  const watch = (table: NativeTable): NativeTable => {
    const checkout: NativeTable['checkout'] = async (version) => {
      await table.checkout(version);
      await happen();
    };
    const branches: NativeTable['branches'] = async () => {
      const found = await table.branches();
      const checkoutBranch: NativeBranches['checkout'] = async (...args) => {
        const branch = await found.checkout(...args);
        await happen();
        return branch;
      };
      return replaceMethods(found, { checkout: checkoutBranch });
    };
    return replaceMethods(table, { checkout, branches });
  };
  const connect: NativeEngine['Connection']['new'] = async (uri, options) => {
    const connection = await native.Connection.new(uri, options);
    const openTable: NativeConnection['openTable'] = async (...args) => watch(await connection.openTable(...args));
    return replaceMethods(connection, { openTable });
  };
  return { ...native, Connection: { new: connect } };
}

/** Keeps the size of the largest batch that a query returned. */
export function measureBatches(): { readonly native: NativeEngine; bytesMax: number } {
  const native = loadNative();
  const watchBatches = (batches: NativeBatches): NativeBatches =>
    replaceMethods(batches, {
      next: async () => {
        const batch = await batches.next();
        measured.bytesMax = Math.max(measured.bytesMax, batch?.length ?? 0);
        return batch;
      },
    });
  const watchQuery = (query: NativeQuery): NativeQuery => {
    const execute: NativeQuery['execute'] = async (...args) => watchBatches(await query.execute(...args));
    return replaceMethods(query, { execute });
  };
  const connect: NativeEngine['Connection']['new'] = async (uri, options) => {
    const connection = await native.Connection.new(uri, options);
    const openTable: NativeConnection['openTable'] = async (...args) => {
      const table = await connection.openTable(...args);
      return replaceMethods(table, { query: () => watchQuery(table.query()) });
    };
    return replaceMethods(connection, { openTable });
  };
  const measured = { bytesMax: 0, native: { ...native, Connection: { new: connect } } };
  return measured;
}

/** Sees the size of the batches of each query that is run. */
export function watchReads(onRead: (batchRows: number) => void): NativeEngine {
  const native = loadNative();
  const watch = <Watched extends Pick<NativeQuery, 'execute'>>(query: Watched): Watched => {
    const execute: NativeQuery['execute'] = async (batchRows, timeout) => {
      onRead(batchRows ?? 0);
      return query.execute(batchRows, timeout);
    };
    return replaceMethods(query, { execute });
  };
  const connect: NativeEngine['Connection']['new'] = async (uri, options) => {
    const connection = await native.Connection.new(uri, options);
    const openTable: NativeConnection['openTable'] = async (...args) => {
      const table = await connection.openTable(...args);
      const query: NativeTable['query'] = () => {
        const built = table.query();
        return replaceMethods(watch(built), { nearestTo: (vector: Float32Array) => watch(built.nearestTo(vector)) });
      };
      return replaceMethods(table, { query });
    };
    return replaceMethods(connection, { openTable });
  };
  return { ...native, Connection: { new: connect } };
}

/** Keeps how many columns each query names. */
export function countNames(): { readonly native: NativeEngine; readonly counts: number[] } {
  const native = loadNative();
  const counts: number[] = [];
  const watchQuery = <Query extends Pick<NativeQuery, 'selectColumns'>>(query: Query): Query =>
    replaceMethods(query, {
      selectColumns: (names: string[]) => {
        counts.push(names.length);
        query.selectColumns(names);
      },
    });
  const connect: NativeEngine['Connection']['new'] = async (uri, options) => {
    const connection = await native.Connection.new(uri, options);
    const openTable: NativeConnection['openTable'] = async (...args) => {
      const table = await connection.openTable(...args);
      const takeRowIds: NativeTable['takeRowIds'] = (ids) => watchQuery(table.takeRowIds(ids));
      return replaceMethods(table, { query: () => watchQuery(table.query()), takeRowIds });
    };
    return replaceMethods(connection, { openTable });
  };
  return { native: { ...native, Connection: { new: connect } }, counts };
}

/** Loses the reply of each commit as long as it is told to. */
export function loseReplies(): { readonly native: NativeEngine; isLosing: boolean } {
  const lost = {
    isLosing: true,
    native: watchCommits(async (call) => {
      const reply = await call();
      if (lost.isLosing) throw new Error('The storage has gone.');
      return reply;
    }),
  };
  return lost;
}

function watchConnection(connection: NativeConnection, around: AroundCall): NativeConnection {
  const openTable: NativeConnection['openTable'] = async (...args) =>
    watchTable(await connection.openTable(...args), around);
  // The first chunk of an overwrite. A new table is made undisturbed.
  const createTable: NativeConnection['createTable'] = async (...args) => {
    const create = async (): Promise<NativeTable> => connection.createTable(...args);
    return args[2] === 'create' ? create() : watchTable(await around(create, 'add'), around);
  };
  return replaceMethods(connection, { openTable, createTable });
}

function watchTable(table: NativeTable, around: AroundCall): NativeTable {
  const replaced = WATCHED.map((name) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The arguments are passed on as they come.
    const method = table[name].bind(table) as (...args: readonly unknown[]) => Promise<unknown>;
    return [name, async (...args: readonly unknown[]) => around(async () => method(...args), name)] as const;
  });
  return replaceMethods(table, Object.fromEntries(replaced));
}

/** The same object but for some methods. Native objects do not take calls through another `this`. */
function replaceMethods<Owner extends object>(owner: Owner, methods: Readonly<Record<string, unknown>>): Owner {
  return new Proxy(owner, {
    get(target, property) {
      if (typeof property === 'string' && property in methods) return methods[property];
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
