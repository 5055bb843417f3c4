import type { HttpClient, Reply } from '../http.ts';
import { attempt } from '../http.ts';
import { Known, KnownCount } from '../model/known.ts';
import { intRows, readRows, requireOk } from '../rows.ts';

/** Violations found at the end, by kind. */
export interface Tally {
  acknowledged: number;
  unknown: number;
  refused: number;
  checked: number;
  lost: number;
  doubled: number;
  torn: number;
  /** Writes that got a 5xx but were applied. */
  failedAfterCommit: number;
  unexpected: number;
  /** Requests without a key that got the result of an earlier one. */
  replayed: number;
  readonly blame: (kind: string, detail: string) => void;
}

export type Outcome = 'done' | 'unknown' | 'refused';

/** One kind of write, sent sequentially by one client, and what must exist at the end. */
export interface Writer {
  readonly pauseMilliseconds: number;
  prepare(): Promise<void>;
  step(serial: number): Promise<void>;
  check(): Promise<void>;
}

export interface WriterParts {
  readonly client: HttpClient;
  /** The prefix of all names in the round. */
  readonly round: string;
  readonly tally: Tally;
}

const ROWS_PER_INSERT = 3;
const ROWS_PER_CREATE = 17;
const KEPT = 3;

export function makeWriters(parts: WriterParts): readonly Writer[] {
  return [
    ...incrementers(parts, 32),
    inserts(parts),
    inserts(parts, '-two'),
    merges(parts),
    pairUpdates(parts),
    comingAndGoing(parts),
    creates(parts),
    overwrites(parts),
    columns(parts),
    tags(parts),
    branches(parts),
    metadata(parts),
    namespaces(parts),
    renames(parts),
  ];
}

/** Replies that certainly mean that nothing was done; any other 4xx is unexpected. */
export async function outcomeOf(
  reply: Promise<Reply>,
  tally: Tally,
  refusals: readonly number[] = [],
): Promise<Outcome> {
  const answer = await attempt(reply);
  if (answer?.status === 200) {
    tally.acknowledged += 1;
    return 'done';
  }
  if (answer === undefined || answer.status >= 500) {
    tally.unknown += 1;
    return 'unknown';
  }
  tally.refused += 1;
  if (!refusals.includes(answer.status)) {
    tally.unexpected += 1;
    tally.blame('unexpected answer', `${answer.status} ${answer.text}`);
  }
  return 'refused';
}

function settle(known: Known, outcome: Outcome, value: string): void {
  if (outcome === 'done') known.acknowledged(value);
  if (outcome === 'unknown') known.unknown(value);
}

function judge(tally: Tally, what: string, known: Known, observed: string): void {
  tally.checked += 1;
  if (known.allows(observed)) return;
  tally.lost += 1;
  tally.blame('lost', `${what} is ${observed}, should be ${known.describe()}`);
}

/**
 * Always sends the same body. Half of the requests have a key and are repeated until they get a reply: these must be
 * applied exactly once. Of the others, those that get an earlier result are not counted: a kill during a response
 * leaves a doubt, as documented in `docs/guides/loading.md`.
 */
function incrementers({ client, round, tally }: WriterParts, count: number): readonly Writer[] {
  const table = `${round}-counters`;
  const rows = Array.from({ length: count }, (_unused, id) => ({ id, hits: 0, twice: 0 }));
  const updates = [
    ['hits', 'hits + 1'],
    ['twice', 'twice + 2'],
  ];
  return rows.map(({ id: row }): Writer => {
    const known = new KnownCount();
    const hasKey = row % 2 === 0;
    let turn = 0;
    let isOpen = false;
    return {
      pauseMilliseconds: 0,
      async prepare() {
        if (row === 0) await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(rows)));
      },
      async step() {
        const headers = hasKey ? { 'idempotency-key': `${table}-${row}-${turn}` } : {};
        const sent = client.post(`/v1/table/${table}/update`, { updates, predicate: `id = ${row}` }, headers);
        const reply = await attempt(sent);
        const outcome = await outcomeOf(sent, tally);
        const isReplayed = !hasKey && reply?.headers['idempotency-replayed'] === 'true';
        if (isReplayed) tally.replayed += 1;
        else if (outcome === 'done') known.acknowledged();
        else if (outcome === 'unknown' && !hasKey) known.unknown();
        if (outcome === 'done') turn += 1;
        isOpen = hasKey && outcome === 'unknown';
      },
      async check() {
        if (isOpen) known.unknown();
        const [found] = await readRows(client, table, { filter: `id = ${row}` });
        const hits: number = found?.['hits'] ?? -1;
        tally.checked += known.least;
        if (hits < known.least) tally.lost += known.least - hits;
        if (hits > known.most) tally.doubled += hits - known.most;
        if (found?.['twice'] !== 2 * hits) tally.torn += 1;
        const isRight = hits >= known.least && hits <= known.most && found?.['twice'] === 2 * hits;
        if (!isRight) tally.blame('counter', `${JSON.stringify(found)}, ${known.least} to ${known.most} expected`);
      },
    };
  });
}

function inserts({ client, round, tally }: WriterParts, suffix = ''): Writer {
  const table = `${round}-log${suffix}`;
  const outcomes = new Map<number, Outcome | 'failed'>();
  const make = (batch: number): Uint8Array =>
    intRows(Array.from({ length: ROWS_PER_INSERT }, (_unused, part) => ({ batch, part })));
  return {
    pauseMilliseconds: 0,
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([], ['batch', 'part']))),
    async step(serial) {
      const sent = client.arrow(`/v1/table/${table}/insert`, make(serial));
      const answer = await attempt(sent);
      const outcome = await outcomeOf(sent, tally);
      outcomes.set(serial, outcome === 'unknown' && answer !== undefined ? 'failed' : outcome);
    },
    async check() {
      const counts = new Map<number, number>();
      for (const { batch } of await readRows(client, table)) counts.set(batch, (counts.get(batch) ?? 0) + 1);
      for (const [batch, outcome] of outcomes) {
        const found = counts.get(batch) ?? 0;
        counts.delete(batch);
        judgeBatch(tally, `${table} batch ${batch}`, outcome, found);
      }
      for (const batch of counts.keys()) tally.blame('doubled', `${table} has batch ${batch}, which was never sent`);
      tally.doubled += counts.size;
    },
  };
}

function judgeBatch(tally: Tally, what: string, outcome: Outcome | 'failed', found: number): void {
  tally.checked += 1;
  if (found === ROWS_PER_INSERT) {
    if (outcome === 'failed') tally.failedAfterCommit += 1;
    if (outcome === 'failed') tally.blame('5xx after a commit', what);
    if (outcome !== 'refused') return;
  }
  if (found === 0 && outcome !== 'done') return;
  const kind = found === 0 ? 'lost' : found > ROWS_PER_INSERT || outcome === 'refused' ? 'doubled' : 'torn';
  tally[kind] += 1;
  tally.blame(kind, `${what}: ${found} rows after "${outcome}"`);
}

/** Two rows at once, by key: both must be new, or both old. */
function merges({ client, round, tally }: WriterParts): Writer {
  const table = `${round}-ledger`;
  const known = Array.from({ length: 5 }, () => new Known('0'));
  return {
    pauseMilliseconds: 0,
    async prepare() {
      const rows = Array.from({ length: 10 }, (_unused, id) => ({ id, a: 0, b: 0 }));
      await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(rows)));
    },
    async step(serial) {
      const pair = serial % known.length;
      const value = serial + 1;
      const body = intRows([pair, pair + 5].map((id) => ({ id, a: value, b: value })));
      const flags = 'on=id&when_matched_update_all=true&when_not_matched_insert_all=true';
      const outcome = await outcomeOf(client.arrow(`/v1/table/${table}/merge_insert?${flags}`, body), tally);
      settle(known[pair] as Known, outcome, String(value));
    },
    async check() {
      const rows = await readRows(client, table);
      if (rows.length !== 10) tally.doubled += 1;
      for (const [pair, each] of known.entries()) {
        const values = rows.filter(({ id }) => id % 5 === pair).flatMap(({ a, b }) => [a, b]);
        judgeWhole(tally, `${table} pair ${pair}`, each, values);
      }
    },
  };
}

/** All values of one write are equal; different ones come from two writes. */
function judgeWhole(tally: Tally, what: string, known: Known, values: readonly unknown[]): void {
  if (new Set(values).size === 1) {
    judge(tally, what, known, String(values[0]));
    return;
  }
  tally.torn += 1;
  tally.blame('torn', `${what}: ${values.join(' ')}`);
}

/** Updates several columns of several rows at once. */
function pairUpdates({ client, round, tally }: WriterParts): Writer {
  const table = `${round}-pairs`;
  const known = new Known('0');
  return {
    pauseMilliseconds: 0,
    async prepare() {
      const rows = Array.from({ length: 4 }, (_unused, id) => ({ id, a: 0, b: 0 }));
      await requireOk(client.arrow(`/v1/table/${table}/create`, intRows(rows)));
    },
    async step(serial) {
      const value = String(serial + 1);
      const updates = [
        ['a', value],
        ['b', value],
      ];
      settle(known, await outcomeOf(client.post(`/v1/table/${table}/update`, { updates }), tally), value);
    },
    async check() {
      const rows = await readRows(client, table);
      judgeWhole(
        tally,
        table,
        known,
        rows.flatMap(({ a, b }) => [a, b]),
      );
    },
  };
}

/** An object with a unique name that is created, and removed a few steps later. */
interface Passing {
  readonly at: WriterParts;
  readonly pauseMilliseconds: number;
  readonly make: (serial: number) => Promise<Reply>;
  readonly remove: (serial: number) => Promise<Reply>;
  /** How the object looks if it exists. */
  readonly whole: string;
  readonly prepare?: () => Promise<void>;
  readonly look: () => Promise<ReadonlyMap<number, string>>;
  readonly what: string;
}

function passing({ at, pauseMilliseconds, make, remove, whole, prepare, look, what }: Passing): Writer {
  const known = new Map<number, Known>();
  const { tally } = at;
  return {
    pauseMilliseconds,
    prepare: prepare ?? (async () => undefined),
    async step(serial) {
      const made = new Known('absent');
      known.set(serial, made);
      settle(made, await outcomeOf(make(serial), tally), whole);
      const old = known.get(serial - KEPT);
      // If it is unknown whether the object was created, there may be nothing to remove.
      if (old !== undefined)
        settle(old, await outcomeOf(remove(serial - KEPT), tally, old.allows('absent') ? [404] : []), 'absent');
    },
    async check() {
      const found = await look();
      for (const [serial, each] of known) judge(tally, `${what} ${serial}`, each, found.get(serial) ?? 'absent');
    },
  };
}

function comingAndGoing(at: WriterParts): Writer {
  const { client, round } = at;
  const table = `${round}-perish`;
  return passing({
    at,
    what: table,
    pauseMilliseconds: 0,
    whole: '1',
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([], ['id']))),
    make: async (id) => client.arrow(`/v1/table/${table}/insert`, intRows([{ id }])),
    // A delete without matches is acknowledged too.
    remove: async (id) => client.post(`/v1/table/${table}/delete`, { predicate: `id = ${id}` }),
    async look() {
      const counts = new Map<number, number>();
      for (const { id } of await readRows(client, table)) counts.set(id, (counts.get(id) ?? 0) + 1);
      return new Map([...counts].map(([id, count]) => [id, String(count)]));
    },
  });
}

function creates(at: WriterParts): Writer {
  const { client, round } = at;
  const name = (serial: number): string => `${round}-made-${serial}`;
  const stream = intRows(Array.from({ length: ROWS_PER_CREATE }, (_unused, id) => ({ id })));
  return passing({
    at,
    what: `${round}-made`,
    pauseMilliseconds: 20,
    whole: String(ROWS_PER_CREATE),
    make: async (serial) => client.arrow(`/v1/table/${name(serial)}/create`, stream),
    remove: async (serial) => client.post(`/v1/table/${name(serial)}/drop`, {}),
    async look() {
      const found = new Map<number, string>();
      for (const listed of await listTables(client)) {
        if (!listed.startsWith(`${round}-made-`)) continue;
        const { json } = await client.post(`/v1/table/${listed}/count_rows`, {});
        found.set(Number(listed.split('-').at(-1)), String(json));
      }
      return found;
    },
  });
}

export async function listTables(client: HttpClient): Promise<readonly string[]> {
  const names: string[] = [];
  let token: string | undefined;
  do {
    const { json } = await client.get(
      `/v1/tables${token === undefined ? '' : `?page_token=${encodeURIComponent(token)}`}`,
    );
    names.push(...json.tables);
    token = json.page_token;
  } while (token !== undefined);
  return names;
}

function overwrites({ client, round, tally }: WriterParts): Writer {
  const table = `${round}-over`;
  const known = new Known('0');
  const make = (value: number): Uint8Array => intRows(Array.from({ length: 5 }, (_unused, id) => ({ id, value })));
  return {
    pauseMilliseconds: 20,
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, make(0))),
    async step(serial) {
      const path = `/v1/table/${table}/create?mode=overwrite`;
      settle(known, await outcomeOf(client.arrow(path, make(serial + 1)), tally), String(serial + 1));
    },
    async check() {
      const rows = await readRows(client, table);
      if (rows.length !== 5) tally.torn += 1;
      judgeWhole(
        tally,
        table,
        known,
        rows.map(({ value }) => value),
      );
    },
  };
}

function columns(at: WriterParts): Writer {
  const { client, round } = at;
  const table = `${round}-shape`;
  return passing({
    at,
    what: `${table} column`,
    pauseMilliseconds: 20,
    whole: 'there',
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([{ id: 1 }, { id: 2 }]))),
    make: async (serial) =>
      client.post(`/v1/table/${table}/add_columns`, {
        new_columns: [{ name: `c${serial}`, expression: `id * ${serial}` }],
      }),
    remove: async (serial) => client.post(`/v1/table/${table}/drop_columns`, { columns: [`c${serial}`] }),
    async look() {
      const [first = {}, second = {}] = await readRows(client, table);
      const found = Object.keys(first).filter((name) => /^c\d+$/.test(name));
      return new Map(
        found.map((name) => {
          const serial = Number(name.slice(1));
          const isRight = first[name] === serial * first['id'] && second[name] === serial * second['id'];
          return [serial, isRight ? 'there' : 'torn'];
        }),
      );
    },
  });
}

function tags(at: WriterParts): Writer {
  const { client, round } = at;
  const table = `${round}-tagged`;
  return passing({
    at,
    what: `${table} tag`,
    pauseMilliseconds: 5,
    whole: '1',
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([{ id: 1 }]))),
    make: async (serial) => client.post(`/v1/table/${table}/tags/create`, { tag: `t${serial}`, version: 1 }),
    remove: async (serial) => client.post(`/v1/table/${table}/tags/delete`, { tag: `t${serial}` }),
    async look() {
      const { json } = await client.post(`/v1/table/${table}/tags/list`, {});
      return new Map(
        Object.entries<any>(json.tags).map(([tag, { version }]) => [Number(tag.slice(1)), String(version)]),
      );
    },
  });
}

function branches(at: WriterParts): Writer {
  const { client, round } = at;
  const table = `${round}-branched`;
  return passing({
    at,
    what: `${table} branch`,
    pauseMilliseconds: 30,
    whole: 'there',
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([{ id: 1 }]))),
    make: async (serial) => client.post(`/v1/table/${table}/branches/create`, { name: `b${serial}` }),
    remove: async (serial) => client.post(`/v1/table/${table}/branches/delete`, { name: `b${serial}` }),
    async look() {
      const { json } = await client.post(`/v1/table/${table}/branches/list`, {});
      return new Map(Object.keys(json.branches).map((name) => [Number(name.slice(1)), 'there']));
    },
  });
}

function metadata({ client, round, tally }: WriterParts): Writer {
  const table = `${round}-noted`;
  const known = new Known('none');
  return {
    pauseMilliseconds: 10,
    prepare: async () => requireOk(client.arrow(`/v1/table/${table}/create`, intRows([{ id: 1 }]))),
    async step(serial) {
      const updates = [{ path: 'id', metadata: { note: String(serial), again: String(serial) } }];
      const sent = client.post(`/v1/table/${table}/update_field_metadata`, { updates });
      settle(known, await outcomeOf(sent, tally), String(serial));
    },
    async check() {
      const { json } = await client.post(`/v1/table/${table}/describe`, { load_detailed_metadata: true });
      const found = json.schema.fields[0].metadata ?? {};
      judgeWhole(tally, `${table} metadata`, known, [found.note ?? 'none', found.again ?? 'none']);
    },
  };
}

function namespaces(at: WriterParts): Writer {
  const { client, round } = at;
  return passing({
    at,
    what: `${round} namespace`,
    pauseMilliseconds: 5,
    whole: 'there',
    prepare: async () => requireOk(client.post(`/v1/namespace/${round}/create`, {})),
    make: async (serial) => client.post(`/v1/namespace/${round}$n${serial}/create`, {}),
    remove: async (serial) => client.post(`/v1/namespace/${round}$n${serial}/drop`, {}),
    async look() {
      const { json } = await client.get(`/v1/namespace/${round}/list`);
      return new Map((json.namespaces as string[]).map((name) => [Number(name.slice(1)), 'there']));
    },
  });
}

/** A table that is renamed back and forth. */
function renames({ client, round, tally }: WriterParts): Writer {
  const names = [`${round}-here`, `${round}-there`] as const;
  const known = new Known(names[0]);
  let at = 0;
  return {
    pauseMilliseconds: 10,
    prepare: async () => requireOk(client.arrow(`/v1/table/${names[0]}/create`, intRows([{ id: 1 }]))),
    async step() {
      const [from, to] = [names[at % 2] as string, names[(at + 1) % 2] as string];
      const sent = client.post(`/v1/table/${from}/rename`, { new_table_name: to });
      const outcome = await outcomeOf(sent, tally, [404]);
      settle(known, outcome, to);
      if (outcome !== 'unknown') at += 1;
    },
    async check() {
      const listed = new Set(await listTables(client));
      const found = names.filter((name) => listed.has(name));
      if (found.length > 1) tally.doubled += 1;
      judge(tally, `${round} renamed`, known, found.join(' and '));
    },
  };
}
