import { readdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import { sampleStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import type { HttpClient, Reply } from '../http.ts';
import { inParallel } from '../parallel.ts';
import { readRows, requireOk } from '../rows.ts';
import { WITHOUT_SYNC } from '../server.ts';

const AT_ONCE = 6;

/** Pieces that other servers have mistaken for paths, other names, or nothing. */
const PIECES = [
  '.',
  '..',
  '/',
  '\\',
  '%',
  '%2f',
  '%2F',
  '%00',
  '%252e',
  '\u0000',
  '\n',
  '\r',
  '\t',
  ' ',
  '?',
  '#',
  '$',
  '~',
  '*',
  '|',
  '<',
  '>',
  '"',
  "'",
  '`',
  ';',
  ':',
  '&',
  '=',
  '+',
  ',',
  '@',
  '-',
  '--',
  'CON',
  'nul',
  '.lance',
  '_versions',
  '__manifest',
  'tiltyard.db',
  'uploads',
  'victim',
  'VICTIM',
  'vіctim',
  '\u200b',
  '\u200d',
  '\u202e',
  '\ufeff',
  '\u0301',
  '\u0085',
  '\u2028',
  'é',
  'e\u0301',
  '日本',
  '🦄',
  '\ud800',
  'a',
  'b',
  'z',
  '0',
  'x'.repeat(250),
  'é'.repeat(127),
  'x'.repeat(5000),
];

export const names: Campaign = {
  name: 'names',
  promise: 'a name is refused with 400 or comes back as it was, and touches nothing else',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const count = trust.size(3000, 120);
    const server = await trust.startServer(['--http-uploads-max=64', WITHOUT_SYNC]);
    const admin = server.admin.patient();
    await requireOk(admin.arrow('/v1/table/victim/create', sampleStream(20)));
    await requireOk(admin.arrow('/v1/table/host/create', sampleStream(3)));
    const before = await describeVictim(admin);
    const seen = { accepted: 0, refused: 0, failed: 0, changed: 0 };
    const list = makeNames(trust.seed, count);
    await inParallel(count, AT_ONCE, async (index) => {
      trust.progress(index, count);
      const name = list[index] ?? '';
      for (const [what, replies] of Object.entries(TRIALS)) {
        const { reply, isSame } = await replies(admin, name, index);
        if (reply.status === 200) seen.accepted += 1;
        else seen.refused += 1;
        const where = `seed ${trust.seed + index}, ${what} ${JSON.stringify(name.slice(0, 60))}`;
        if (reply.status >= 500) seen.failed += 1;
        if (reply.status >= 500) trust.blame('5xx', `${where}: ${reply.text}`);
        if (isSame) continue;
        seen.changed += 1;
        trust.blame('changed', `${where}: ${reply.status} ${reply.text.slice(0, 300)}`);
      }
    });
    const after = await describeVictim(admin);
    const outside = (await readdir(dirname(server.folder))).length - 1;
    const strange = (await readdir(server.folder)).filter(
      (file) => !/^(?:tiltyard\.db.*|server\.lock.*|\.tiltyard\.lock.*|uploads|[^/]+\.lance|[\w-]+)$/.test(file),
    );
    return [
      atLeast('names', count, trust.size(3000, 120)),
      info('ways in which each was used', Object.keys(TRIALS).length),
      info('accepted', seen.accepted),
      info('refused', seen.refused),
      none('5xx', seen.failed),
      none('names that came back changed', seen.changed),
      none('bystanders changed', before === after ? 0 : 1),
      none('files outside of the data folder', outside + strange.length),
      none('worker crashes', server.crashes()),
    ];
  },
};

/** All different: two clients with the same name would see each other's table. */
function makeNames(seed: number, count: number): readonly string[] {
  const taken = new Set(['victim', 'host']);
  return Array.from({ length: count }, (_unused, index) => {
    const random = seededRandom(seed + index);
    const pieces = Array.from({ length: 1 + random(3) }, () => PIECES[random(PIECES.length)] ?? 'a');
    // An unpaired surrogate has no UTF-8 form: a replacement character arrives.
    const plain = Buffer.from(pieces.join('')).toString();
    const name = random(3) === 0 && !taken.has(plain) ? plain : `${plain}${index}`;
    taken.add(name);
    return name;
  });
}

type Trial = (client: HttpClient, name: string, index: number) => Promise<{ reply: Reply; isSame: boolean }>;

const TRIALS: Readonly<Record<string, Trial>> = {
  async create(client, name) {
    const id = encodeURIComponent(name);
    const reply = await client.arrow(`/v1/table/${id}/create?mode=overwrite`, sampleStream(1));
    if (reply.status !== 200) return { reply, isSame: true };
    const { json } = await client.post(`/v1/table/${id}/describe`, {});
    const isSame = json?.table !== undefined && [...(json.namespace ?? []), json.table].join('$') === name;
    await client.post(`/v1/table/${id}/drop`, {});
    return { reply, isSame };
  },
  async rename(client, name, index) {
    await client.arrow(`/v1/table/from-${index}/create?mode=overwrite`, sampleStream(1));
    const reply = await client.post(`/v1/table/from-${index}/rename`, { new_table_name: name });
    if (reply.status !== 200) {
      await client.post(`/v1/table/from-${index}/drop`, {});
      return { reply, isSame: true };
    }
    const { json } = await client.post(`/v1/table/${encodeURIComponent(name)}/describe`, {});
    await client.post(`/v1/table/${encodeURIComponent(name)}/drop`, {});
    return { reply, isSame: json?.table === name };
  },
  async tag(client, name) {
    const reply = await client.post('/v1/table/host/tags/create', { tag: name, version: 1 });
    if (reply.status !== 200) return { reply, isSame: true };
    const { json } = await client.post('/v1/table/host/tags/version', { tag: name });
    await client.post('/v1/table/host/tags/delete', { tag: name });
    return { reply, isSame: json?.version === 1 };
  },
  async branch(client, name) {
    const reply = await client.post('/v1/table/host/branches/create', { name });
    if (reply.status !== 200) return { reply, isSame: true };
    const { json } = await client.post('/v1/table/host/count_rows', { branch: name });
    await client.post('/v1/table/host/branches/delete', { name });
    return { reply, isSame: json === 3 };
  },
  async index(client, name) {
    const reply = await client.post('/v1/table/host/create_index', { column: 'id', index_type: 'BTREE', name });
    if (reply.status !== 200) return { reply, isSame: true };
    const { json } = await client.post('/v1/table/host/index/list', {});
    const isSame = (json?.indexes ?? []).some((each: any) => each.index_name === name);
    await client.post(`/v1/table/host/index/${encodeURIComponent(name)}/drop`, {});
    return { reply, isSame };
  },
};

async function describeVictim(client: HttpClient): Promise<string> {
  const { json } = await client.post('/v1/table/victim/describe', {});
  return JSON.stringify({ location: json.location, rows: await readRows(client, 'victim') });
}
