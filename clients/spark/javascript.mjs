// The JavaScript client beside Spark: `make TABLE` creates a table, `search TABLE` prints what it finds in one.
import { Field, FixedSizeList, Float32, Int64, Schema, Utf8 } from 'apache-arrow';
import { Index, connect, makeArrowTable } from '@lancedb/lancedb';

const { TILTYARD_URL, TILTYARD_API_KEY, TILTYARD_DATABASE } = process.env;
const [action, table] = process.argv.slice(2);
const [name, ...namespace] = table.split('.').toReversed();
const path = namespace.toReversed();

const db = await connect(`db://${TILTYARD_DATABASE}`, { apiKey: TILTYARD_API_KEY, hostOverride: TILTYARD_URL });

async function make() {
  const item = new Field('item', new Float32(), true);
  const schema = new Schema([
    new Field('id', new Int64(), true),
    new Field('name', new Utf8(), true),
    new Field('vector', new FixedSizeList(4, item), true),
  ]);
  const rows = Array.from({ length: 10 }, (_, id) => ({ id: BigInt(id), name: `n${id}`, vector: [id, 1, 2, 3] }));
  await db.createTable(name, makeArrowTable(rows, { schema }), path);
}

async function search() {
  const opened = await db.openTable(name, path);
  await opened.createIndex('name', { config: Index.fts() });
  const near = await opened.search([4, 1, 2, 3]).limit(2).toArray();
  const words = await opened.query().fullTextSearch('n7').toArray();
  const filtered = await opened.query().where('id > 7').select(['id', 'name']).toArray();
  const ids = (rows) => rows.map(({ id }) => Number(id));
  return { count: await opened.countRows(), near: ids(near), words: ids(words), filtered: ids(filtered) };
}

async function count() {
  return (await db.openTable(name, path)).countRows();
}

async function read() {
  const rows = await (await db.openTable(name, path)).query().toArray();
  return rows.map((row) => row.toJSON());
}

const toText = (_key, value) => (typeof value === 'bigint' ? Number(value) : value);
const actions = { make, search, count, read };
process.stdout.write(`${JSON.stringify((await actions[action]()) ?? 'done', toText)}\n`);
