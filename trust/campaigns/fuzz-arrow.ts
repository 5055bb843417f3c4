import { metadataRanges, mutate } from '../../test/arrow/support/mutate.ts';
import {
  END_OF_STREAM,
  TYPES,
  field,
  fixtureStream,
  int32Batch,
  schemaMessage,
  streamOf,
} from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, none, info } from '../campaign.ts';
import { declaredRows } from '../model/declared-rows.ts';
import { inParallel } from '../parallel.ts';
import { WITHOUT_SYNC } from '../server.ts';
import { listTables } from './kill-writers.ts';

const AT_ONCE = 12;

const SEEDS: Readonly<Record<string, () => Buffer>> = {
  plain: () => fixtureStream('plain'),
  lz4: () => fixtureStream('lz4'),
  zstd: () => fixtureStream('zstd'),
  dictionary: () => fixtureStream('dict'),
  list: () => fixtureStream('list'),
  struct: () => fixtureStream('struct'),
  map: () => fixtureStream('map'),
  decimal: () => fixtureStream('decimal128'),
  empty: () => streamOf(schemaMessage([field('id', TYPES.int32), field('name', TYPES.utf8)])),
  'many batches': () => fixtureStream('multi'),
  views: () => fixtureStream('string_view'),
  'wrong end': () =>
    Buffer.concat([schemaMessage([field('id', TYPES.int32)], { endianness: 1 }), int32Batch([1, 2, 3]), END_OF_STREAM]),
};

export const fuzzArrow: Campaign = {
  name: 'arrow',
  promise: 'no Arrow body ends the server, and none makes a table of other rows than it declares',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const count = trust.size(200_000, 1500);
    const server = await trust.startServer(['--http-uploads-max=64', WITHOUT_SYNC]);
    const admin = server.admin.patient();
    const bodies = Object.values(SEEDS).map((make) => make());
    const names = Object.keys(SEEDS);
    const ranges = bodies.map(metadataRanges);
    const seen = { accepted: 0, failed: 0, broken: 0, wrong: 0 };
    await inParallel(count, AT_ONCE, async (index) => {
      trust.progress(index, count);
      const which = index % bodies.length;
      const seed = trust.seed + index;
      const body = mutate(bodies[which] ?? Buffer.alloc(0), ranges[which] ?? [], seed);
      const at = `/v1/table/mutant-${index}`;
      const where = `seed ${seed} of ${names[which]}`;
      try {
        const reply = await admin.arrow(`${at}/create`, body);
        if (reply.status >= 500) seen.failed += 1;
        if (reply.status >= 500) trust.blame('5xx', `${where}: ${reply.text}`);
        if (reply.status !== 200) return;
        seen.accepted += 1;
        const rows = await admin.post(`${at}/count_rows`, {});
        if (rows.json !== declaredRows(body)) seen.wrong += 1;
        if (rows.json !== declaredRows(body))
          trust.blame('rows', `${where}: ${rows.text}, declared ${declaredRows(body)}`);
      } catch (error) {
        seen.broken += 1;
        trust.blame('no answer', `${where}: ${String(error)}`);
      }
    });
    // Nothing drops tables, so there are as many as were accepted.
    const left = (await listTables(admin)).length - seen.accepted;
    return [
      atLeast('mutated Arrow bodies, over HTTP', count, trust.size(200_000, 1500)),
      info('seeds', bodies.length),
      info('accepted', seen.accepted),
      none('5xx', seen.failed),
      none('no answer', seen.broken),
      none('tables with other rows than declared', seen.wrong),
      none('tables made by refused bodies, or lost', Math.abs(left)),
      none('worker crashes', server.crashes()),
    ];
  },
};
