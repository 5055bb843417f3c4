import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';

/** Far below what each of these took before they were bounded, and far above what a busy machine needs. */
const STALL_MILLISECONDS_MAX = 1500;
const BODY_BYTES = 15_600_000;

let server: ContractServer;
let table: MadeTable;
before(async () => {
  server = await ContractServer.start();
  table = await server.table();
});
after(async () => server.close());

/** `begin`, as many items as fit, `end`. */
function filled(begin: string, item: string, end: string, bytes = BODY_BYTES): string {
  return (
    begin +
    Array(Math.floor(bytes / (item.length + 1)))
      .fill(item)
      .join() +
    end
  );
}

function keys(count: number, value: string): string {
  return Array.from({ length: count }, (_, key) => `"k${key}":${value}`).join();
}

const vectors = Array(100)
  .fill(`[${Array(15_000).fill('0.1234567').join()}]`)
  .join();

/** The operation, the body, and the message of the refusal. */
const BODIES: Readonly<Record<string, readonly [operation: string, body: () => string, refusal: RegExp]>> = {
  'a vector of texts': ['query', () => filled('{"k":1,"vector":[', '"1"', ']}'), /2,000,000 values|must be number/],
  'a shorter vector of texts': ['query', () => filled('{"k":1,"vector":[', '"1"', ']}', 7_000_000), /must be number/],
  'a vector of too many numbers': ['query', () => filled('{"k":1,"vector":[', '0.12345', ']}'), /dimension|values/],
  'as many vectors as fit': ['query', () => `{"k":1,"vector":{"multi_vector":[${vectors}]}}`, /dimension/],
  '600,000 unknown keys': ['query', () => `{${keys(600_000, '1')}}`, /more than 10,000 keys/],
  '9,000 unknown keys': ['query', () => `{${keys(9000, '"a long text to fill it up"')}}`, /k0.* is unknown/],
  'millions of empty objects': ['query', () => filled('{"k":1,"vector":[', '{}', ']}'), /objects, arrays and keys/],
  'nested lists': ['query', () => filled('{"k":1,"vector":[', '[[[[[[[]]]]]]]', ']}'), /objects, arrays and keys/],
  'one long text': ['query', () => `{"filter":"${'a'.repeat(BODY_BYTES)}"}`, /longer than 1,000,000 characters/],
  'one long text of escapes': [
    'query',
    () => filled('{"filter":"', '\\u0041\\n', '"}'),
    /longer than 1,000,000 characters/,
  ],
  'a list of SQL that is too long': ['query', () => filled('{"filter":"id IN (', '1', ')"}'), /longer than 1,000,000/],
  'a list of SQL with very many items': [
    'query',
    () => filled('{"filter":"id IN (', '1', ')"}', 999_900),
    /list items/,
  ],
  'two long lists of SQL': [
    'query',
    () =>
      `{"filter":"NOT (id IN (${filled('', '1234', '', 400_000)}) AND id NOT IN (${filled('', '1234', '', 400_000)}))"}`,
    /contradict each other or are always true together/,
  ],
  'very many updates': ['update', () => filled('{"updates":[', '["price","1"]', ']}', 4_000_000), /updates/],
  'metadata with very many keys': [
    'update_field_metadata',
    () => `{"updates":[{"path":"id","metadata":{${keys(300_000, '"v"')}}}]}`,
    /more than 10,000 keys/,
  ],
  spaces: ['query', () => `{"k":-1${' '.repeat(BODY_BYTES)}}`, /k must be >= 0/],
};

suite('a large body does not keep others waiting', () => {
  for (const [title, [operation, make, refusal]] of Object.entries(BODIES)) {
    test(title, async (t) => {
      const body = Buffer.from(make());
      const { answer, stallMilliseconds } = await watchLoop(async () =>
        server.admin.send('POST', `${table.at}/${operation}`, {
          headers: { 'content-type': 'application/json' },
          body,
        }),
      );
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, refusal);
      t.diagnostic(`longest stall ${Math.round(stallMilliseconds)} ms`);
      assert.ok(stallMilliseconds < STALL_MILLISECONDS_MAX, `the event loop stood still for ${stallMilliseconds} ms`);
    });
  }
});

/** The longest time in which the process, which serves the request too, ran no timer. */
async function watchLoop<T>(work: () => Promise<T>): Promise<{ answer: T; stallMilliseconds: number }> {
  let last = performance.now();
  let stallMilliseconds = 0;
  const note = (): void => {
    const now = performance.now();
    stallMilliseconds = Math.max(stallMilliseconds, now - last);
    last = now;
  };
  const timer = setInterval(note, 5);
  try {
    const answer = await work();
    note();
    return { answer, stallMilliseconds };
  } finally {
    clearInterval(timer);
  }
}
