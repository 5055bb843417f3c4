import { once } from 'node:events';
import { openCatalog } from '../../src/catalog/catalog.ts';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { ServiceError } from '../../src/errors/service-error.ts';

type Command = (catalog: Catalog, args: readonly string[]) => Promise<void>;

/** What another process does in a test. Each tells its parent what came of it. */
const COMMANDS: Readonly<Record<string, Command>> = {
  async open() {
    await tell('open');
  },

  /** Tries all names, once told to, and tells which were its own. */
  async reserve(catalog, [databaseId = '', count = '', seed = '']) {
    await tell('ready');
    await once(process, 'message');
    const start = Number(seed) % Number(count);
    const won = [];
    for (let step = 0; step < Number(count); step += 1) {
      const name = `table ${(start + step) % Number(count)}`;
      const outcome = await reserve(catalog, databaseId, name);
      if (outcome === 'won') won.push(name);
      else if (outcome !== 'TableAlreadyExists') throw new Error(outcome);
    }
    await tell(won);
  },

  /** Stays alive with its reservation, until it is killed. */
  async hang(catalog, [databaseId = '', name = '']) {
    await tell(await reserve(catalog, databaseId, name));
    setInterval(() => {}, 1000);
  },

  /** Records writes without end and tells the id of each that was acknowledged. */
  async commit(catalog, [databaseId = '', name = '']) {
    const table = await catalog.tables.find(databaseId, [name]);
    if (table === undefined) throw new Error('The table is not there.');
    for (let version = 1; ; version += 1) {
      const commit = { operation: 'update_table', caller: 'key:k', version, requestId: `request-${version}` };
      const [recorded] = await catalog.journal.record([{ table, commit }], true);
      await tell(recorded?.transactionId);
    }
  },

  async revoke(catalog, [id = '']) {
    await tell(await catalog.keys.revoke(id));
  },

  /** Adds databases until the disk is full, and tells the last that was acknowledged and what the next one met. */
  async fill(catalog) {
    // Otherwise the first write past the limit ends the process.
    process.on('SIGXFSZ', () => {});
    let last = '';
    for (let index = 0; ; index += 1) {
      const name = `database-${index}`;
      try {
        await catalog.databases.create({ name, root: 'x'.repeat(2000) });
        last = name;
      } catch (error) {
        const isReadable = (await catalog.databases.find(last)) !== undefined;
        await tell({ last, refused: error instanceof ServiceError ? error.kind : String(error), isReadable });
        return;
      }
    }
  },
};

async function reserve(catalog: Catalog, databaseId: string, name: string): Promise<string> {
  try {
    await catalog.tables.reserve({ databaseId, path: [name], root: '/data', caller: 'key:k' });
    return 'won';
  } catch (error) {
    return error instanceof ServiceError ? error.kind : String(error);
  }
}

/** Until it is sent: what is still waiting when the process disconnects is lost. */
async function tell(message: unknown): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    process.send?.(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}

const [command = '', file = '', ...args] = process.argv.slice(2);
const catalog = await openCatalog({
  address: file,
  storageRoot: '/roots',
  waitMilliseconds: 30_000,
  connectionsMax: 2,
  journal: { windowSeconds: 60, keySeconds: 86_400, keysMax: 1000 },
  cacheBytes: 1_000_000,
  now: Date.now,
});
await COMMANDS[command]?.(catalog, args);
if (command !== 'hang') {
  await catalog.close();
  process.disconnect();
}
