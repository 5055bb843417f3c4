// Makes the table `items` of the guides: a thousand rows with numbers, text and a vector.
import { Field, FixedSizeList, Float32, Float64, Int32, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';

const base = process.env.TILTYARD_URL ?? 'http://127.0.0.1:2333';
const ROWS = 1000;
const DIMENSIONS = 16;
const COLOURS = ['red', 'green', 'blue', 'white', 'black'];
const THINGS = ['lamp', 'chair', 'desk', 'shelf', 'clock', 'vase', 'rug'];

const numbers = Array.from({ length: ROWS }, (_, row) => row);
const column = (type, value) => vectorFromArray(numbers.map(value), type);
const vectorType = new FixedSizeList(DIMENSIONS, new Field('item', new Float32(), true));
const items = new Table({
  id: column(new Int32(), (row) => row),
  title: column(new Utf8(), (row) => `${COLOURS[row % 5]} ${THINGS[row % 7]} number ${row}`),
  price: column(new Float64(), (row) => 1 + ((row * 37) % 200) / 4),
  quantity: column(new Int32(), (row) => (row * 13) % 50),
  vec: column(vectorType, (row) => Array.from({ length: DIMENSIONS }, (_, place) => Math.sin((row + 1) * (place + 1)))),
});

const reply = await fetch(`${base}/v1/table/items/create?mode=overwrite`, {
  method: 'POST',
  headers: { 'x-api-key': process.env.TILTYARD_KEY, 'content-type': 'application/vnd.apache.arrow.stream' },
  body: tableToIPC(items, 'stream'),
});
if (!reply.ok) throw new Error(await reply.text());
console.log(`items: ${ROWS} rows, version ${(await reply.json()).version}`);
