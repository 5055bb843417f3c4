import { fillColumn, refreshView } from '../derived.ts';
import { intRows, readRows, requireOk } from '../rows.ts';
import { outcomeOf } from './kill-writers.ts';
import type { Writer, WriterParts } from './kill-writers.ts';

const REFRESH_EVERY = 10;

/**
 * A table with a computed column under inserts, updates and deletes, with a view of it that is refreshed from time to
 * time.
 */
export function derivedWriter({ client, round, tally }: WriterParts): Writer {
  const [table, view] = [`${round}-computed`, `${round}-view`];
  const at = `/v1/table/${table}`;
  const send = async (serial: number) => {
    if (serial % REFRESH_EVERY === 0) return refreshView(client, view);
    if (serial % 4 === 1) return client.post(`${at}/delete`, { predicate: `id = ${serial - 5}` });
    if (serial % 4 === 2) return client.post(`${at}/update`, { updates: [['value', 'value + 1']] });
    return client.arrow(`${at}/insert`, intRows([{ id: serial, value: serial }]));
  };
  return {
    pauseMilliseconds: 10,
    async prepare() {
      await requireOk(client.arrow(`${at}/create`, intRows([{ id: -1, value: 1 }])));
      await requireOk(client.post(`${at}/add_columns`, { new_columns: [{ name: 'twice', computed: '2 * value' }] }));
      await requireOk(fillColumn(client, table, 'twice'));
      const query = `SELECT id, twice + 1 AS more FROM \`${table}\` WHERE value > 2`;
      const created = await client.post(`/v1/materialized_view/${view}/create`, { kind: 'query', source_query: query });
      if (created.status !== 201) throw new Error(created.text);
    },
    async step(serial) {
      await outcomeOf(send(serial), tally);
    },
    async check() {
      await requireOk(refreshView(client, view));
      const rows = await readRows(client, table);
      const wanted = rows.filter(({ value }) => value > 2).map(({ id, value }) => `${id}:${2 * value + 1}`);
      const found = (await readRows(client, view)).map(({ id, more }) => `${id}:${more}`);
      tally.checked += rows.length + found.length;
      const wrong = rows.filter(({ value, twice }) => twice !== 2 * value);
      if (wrong.length > 0) tally.blame('torn', `${table}: ${JSON.stringify(wrong.slice(0, 3))}`);
      tally.torn += wrong.length;
      if (found.toSorted().join() === wanted.toSorted().join()) return;
      tally.torn += 1;
      tally.blame('torn', `${view} has ${found.length} rows, its query ${wanted.length}`);
    },
  };
}
