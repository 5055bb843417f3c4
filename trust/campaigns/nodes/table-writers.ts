import type { HttpClient, Reply } from '../../http.ts';
import { intRows, readRows, requireOk } from '../../rows.ts';
import { listTables } from '../kill-writers.ts';
import { expectElsewhere, write } from './exchange.ts';
import type { Writer, WriterContext } from './exchange.ts';
import { writeInParts, writeRegisters, writeThings } from './writers.ts';

const ROWS_PER_CREATE = 17;
const CONTENDERS = 3;

export function makeTableWriters(context: WriterContext): readonly Writer[] {
  return [
    creates(context, true),
    creates(context, false),
    overwrites(context, true),
    overwrites(context, false),
    overwritesInParts(context),
    columns(context),
    tags(context),
    renames(context),
    sameNames(context),
  ];
}

/** The number of rows, `absent`, or `undefined` if there was no reply. */
function countOf({ status, json }: Reply): number | 'absent' | undefined {
  if (status === 200) return Number(json);
  return status === 404 ? 'absent' : undefined;
}

function describe(count: ReturnType<typeof countOf>): string | undefined {
  if (typeof count !== 'number') return count;
  return count === ROWS_PER_CREATE ? 'whole' : `torn (${count} rows)`;
}

function creates(context: WriterContext, isKeyed: boolean): Writer {
  const { round } = context;
  const prefix = `${round}-made${isKeyed ? '' : '-plain'}-`;
  const body = intRows(Array.from({ length: ROWS_PER_CREATE }, (_unused, id) => ({ id })));
  const look = async (client: HttpClient, serial: number): Promise<string | undefined> =>
    describe(countOf(await client.post(`/v1/table/${prefix}${serial}/count_rows`, {})));
  return writeThings(context, {
    name: prefix,
    make: (serial) => ({
      path: `/v1/table/${prefix}${serial}/create`,
      body,
      ...(isKeyed ? { key: `${prefix}${serial}` } : {}),
    }),
    remove: (serial) => ({ path: `/v1/table/${prefix}${serial}/drop`, body: {} }),
    look,
    lookAll: async (client) => lookAtTables(client, prefix, look),
  });
}

async function lookAtTables(
  client: HttpClient,
  prefix: string,
  look: (client: HttpClient, serial: number) => Promise<string | undefined>,
): Promise<ReadonlyMap<number, string>> {
  const found = new Map<number, string>();
  for (const name of await listTables(client)) {
    const serial = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN;
    if (Number.isNaN(serial)) continue;
    const seen = await look(client, serial);
    if (seen === undefined) throw new Error(`${name} could not be read`);
    found.set(serial, seen);
  }
  return found;
}

function overwrites(context: WriterContext, isKeyed: boolean): Writer {
  const { round } = context;
  const table = (id: number): string => `${round}-over${isKeyed ? '' : '-plain'}-${id}`;
  const rows = (value: number): Uint8Array => intRows(Array.from({ length: 5 }, (_unused, id) => ({ id, value })));
  return writeRegisters(context, {
    name: `${round}-over${isKeyed ? '' : '-plain'}`,
    open: (id) => ({ path: `/v1/table/${table(id)}/create`, body: rows(0), key: table(id) }),
    set: (id, value) => ({
      path: `/v1/table/${table(id)}/create?mode=overwrite`,
      body: rows(value),
      ...(isKeyed ? { key: `${table(id)}-${value}` } : {}),
    }),
    async look(client, id) {
      const found = await readRows(client, table(id));
      const values = new Set(found.map(({ value }) => value));
      return found.length === 5 && values.size === 1 ? [...values].join() : `torn: ${JSON.stringify(found)}`;
    },
  });
}

/** Several commits, of which no reader may see only some. */
function overwritesInParts(context: WriterContext): Writer {
  const { round } = context;
  const name = `${round}-renewed`;
  const rows = (value: number, part: number): Uint8Array =>
    intRows([0, 1, 2].map((id) => ({ id: 3 * part + id, value })));
  return writeRegisters(context, {
    name,
    open: (id) => ({ path: `/v1/table/${name}-${id}/create`, body: rows(0, 0), key: `${name}-${id}` }),
    set: async (id, value) =>
      writeInParts(context, `/v1/table/${name}-${id}`, { mode: 'overwrite', parts: [rows(value, 0), rows(value, 1)] }),
    async look(client, id) {
      const found = await readRows(client, `${name}-${id}`);
      const values = new Set(found.map(({ value }) => value));
      const isWhole = found.length === (values.has(0) ? 3 : 6) && values.size === 1;
      return isWhole ? [...values].join() : `torn: ${JSON.stringify(found)}`;
    },
  });
}

function columns(context: WriterContext): Writer {
  const { nodes, round } = context;
  const at = `/v1/table/${round}-shape`;
  const lookAll = async (client: HttpClient): Promise<ReadonlyMap<number, string>> => {
    const rows = await readRows(client, `${round}-shape`);
    const names = Object.keys(rows[0] ?? {}).filter((name) => /^c\d+$/.test(name));
    return new Map(
      names.map((name) => {
        const serial = Number(name.slice(1));
        const isRight = rows.length === 2 && rows.every((row) => row[name] === serial * row['id']);
        return [serial, isRight ? 'whole' : `torn: ${JSON.stringify(rows)}`];
      }),
    );
  };
  return writeThings(context, {
    name: `${round}-shape column`,
    prepare: async () => requireOk(nodes.arrow(`${at}/create`, intRows([{ id: 1 }, { id: 2 }]))),
    make: (serial) => ({
      path: `${at}/add_columns`,
      body: { new_columns: [{ name: `c${serial}`, expression: `id * ${serial}` }] },
    }),
    remove: (serial) => ({ path: `${at}/drop_columns`, body: { columns: [`c${serial}`] } }),
    look: async (client, serial) => (await lookAll(client)).get(serial) ?? 'absent',
    lookAll,
  });
}

function tags(context: WriterContext): Writer {
  const { nodes, round } = context;
  const at = `/v1/table/${round}-tagged`;
  const lookAll = async (client: HttpClient): Promise<ReadonlyMap<number, string>> => {
    const { status, json, text } = await client.post(`${at}/tags/list`, {});
    if (status !== 200) throw new Error(`tags: ${status} ${text}`);
    return new Map(
      Object.entries<any>(json.tags).map(([tag, { version }]) => [
        Number(tag.slice(1)),
        version === 1 ? 'whole' : `torn: version ${version}`,
      ]),
    );
  };
  return writeThings(context, {
    name: `${round}-tagged tag`,
    prepare: async () => requireOk(nodes.arrow(`${at}/create`, intRows([{ id: 1 }]))),
    make: (serial) => ({ path: `${at}/tags/create`, body: { tag: `t${serial}`, version: 1 } }),
    remove: (serial) => ({ path: `${at}/tags/delete`, body: { tag: `t${serial}` } }),
    look: async (client, serial) => (await lookAll(client)).get(serial) ?? 'absent',
    lookAll,
  });
}

/** The value is the last part of the name. */
function renames(context: WriterContext): Writer {
  const { round } = context;
  const name = (id: number, value: number): string => `${round}-chain-${id}-${value}`;
  return writeRegisters(context, {
    name: `${round}-chain`,
    open: (id) => ({ path: `/v1/table/${name(id, 0)}/create`, body: intRows([{ id }]), key: name(id, 0) }),
    set: (id, value) => ({
      path: `/v1/table/${name(id, value - 1)}/rename`,
      body: { new_table_name: name(id, value) },
    }),
    async look(client, id, value) {
      const around = [value - 1, value, value + 1].filter((each) => each >= 0);
      const found: number[] = [];
      for (const each of around) {
        const count = countOf(await client.post(`/v1/table/${name(id, each)}/count_rows`, {}));
        if (count === undefined) return undefined;
        if (count === 1) found.push(each);
      }
      return found.length > 1 ? `doubled: ${found.join(' and ')}` : (found.map(String)[0] ?? 'absent');
    },
  });
}

/**
 * Several clients create one name at once, each through any node: the rows must be those of one that was not refused.
 */
function sameNames(context: WriterContext): Writer {
  const { nodes, round, tally } = context;
  const possible = new Map<number, readonly string[]>();
  const table = (serial: number): string => `${round}-same-${serial}`;
  const look = async (client: HttpClient, serial: number): Promise<string | undefined> => {
    const count = countOf(await client.post(`/v1/table/${table(serial)}/count_rows`, {}));
    if (typeof count !== 'number') return count;
    const rows = await readRows(client, table(serial));
    const who = new Set(rows.map((row) => row['who']));
    return rows.length === 2 && who.size === 1 ? [...who].join() : `torn: ${JSON.stringify(rows)}`;
  };
  return {
    name: `${round}-same`,
    async step(serial) {
      const path = `/v1/table/${table(serial)}/create`;
      const body = (who: number): Uint8Array => intRows([{ who }, { who }]);
      const replies = await Promise.all(
        Array.from({ length: CONTENDERS }, async (_unused, who) =>
          write(context, { path, body: body(who), refusals: ({ status }) => status === 409 }),
        ),
      );
      const of = (outcome: string): readonly string[] =>
        replies.flatMap((each, who) => (each.outcome === outcome ? [String(who)] : []));
      const winners = of('done');
      // Of the attempts without a reply, one may have won, or none yet.
      possible.set(serial, winners.length > 0 ? winners : [...of('unknown'), 'absent']);
      const hasNone = winners.length === 0 && of('unknown').length === 0;
      if (winners.length > 1 || hasNone) {
        tally.doubled += 1;
        tally.blame('winners', `${table(serial)}: ${replies.map(({ reply }) => reply?.status).join(' ')}`);
      }
      const [winner] = winners;
      const writtenAt = replies[Number(winner)]?.node;
      if (winner === undefined || writtenAt === undefined) return;
      await expectElsewhere(context, {
        what: table(serial),
        writtenAt,
        value: winner,
        read: async (client) => look(client, serial),
      });
    },
    async check() {
      for (const [serial, each] of possible) {
        const seen = await look(nodes.at(nodes.pick()), serial);
        if (seen === undefined) throw new Error(`${table(serial)} could not be read`);
        tally.checked += 1;
        if (each.includes(seen)) continue;
        tally.lost += 1;
        tally.blame('lost', `${table(serial)} is ${seen} at the end, should be ${each.join(' or ')}`);
      }
    },
  };
}
