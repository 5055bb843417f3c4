import { tableFromArrays, tableToIPC } from 'apache-arrow';

const base = process.env.TILTYARD_URL ?? 'http://127.0.0.1:2333';
const headers = { 'x-api-key': process.env.TILTYARD_KEY };

async function call(path, body, type = 'application/json') {
  const payload = type === 'application/json' ? JSON.stringify(body) : body;
  const init = body === undefined ? {} : { method: 'POST', body: payload };
  const reply = await fetch(base + path, { ...init, headers: { ...headers, 'content-type': type } });
  return reply.json();
}

const rows = tableFromArrays({ id: Int32Array.of(1, 2, 3), price: Float64Array.of(9.5, 3, 12) });
const stream = tableToIPC(rows, 'stream');
console.log(await call('/v1/table/prices/create', stream, 'application/vnd.apache.arrow.stream'));
console.log(await call('/v1/tables'));
console.log(await call('/v1/table/prices/update', { updates: [['price', 'price * 2']], predicate: 'id > 1' }));
const unit = { path: 'price', metadata: { unit: 'EUR' } };
console.log(await call('/v1/table/prices/update_field_metadata', { updates: [unit] }));
console.log(await call('/v1/table/prices/analyze_plan', { filter: 'price > 5', k: 10 }));
console.log(await call('/v1/table/prices/update', { updates: [['prise', '1']] }));
