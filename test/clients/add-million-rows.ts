import { createRequire } from 'node:module';
import { connect } from '@lancedb/lancedb';
import type * as Arrow from 'apache-arrow';
import { ADMIN_KEY } from '../support/server.ts';

/** The client knows tables of the copy of the Arrow library that it has itself. */
const arrow: typeof Arrow = createRequire(import.meta.url)('apache-arrow');

/** A separate program, because the client reads its number of threads once per process. Prints the table's version. */
async function main([hostOverride = '', name = '']: readonly string[]): Promise<void> {
  const remote = await connect('db://default', { apiKey: ADMIN_KEY, hostOverride });
  const ofIds = new arrow.Schema([new arrow.Field('id', new arrow.Int32(), true)]);
  const table = await remote.createEmptyTable(name, ofIds);
  const batch = new arrow.Table(ofIds, { id: arrow.makeVector(Int32Array.from({ length: 275_000 }, (_, id) => id)) });
  const { version } = await table.add(new arrow.Table([batch, batch, batch, batch].flatMap(({ batches }) => batches)));
  process.stdout.write(String(version));
  remote.close();
}

await main(process.argv.slice(2));
