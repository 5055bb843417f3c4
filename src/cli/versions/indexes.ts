import { defined } from '../../client/api-client.ts';
import { dropIndex, indexStats, listIndexes, startIndex } from '../../client/tables.ts';
import { INDEX_TYPES } from '../../model/index-spec.ts';
import { formatBytes, formatCount, formatSearchSettings, formatShare } from '../../plans/format-figure.ts';
import type { CreateIndexBody, IndexSearch, IndexStatsReply } from '../../wire/indexes.ts';
import { defineTableCommand } from '../client-command.ts';
import { EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { readNumber, readRecall } from '../options.ts';
import type { Given, Option } from '../options.ts';
import { BRANCH_OPTION, STATE_OPTIONS, followJob, readBranch, readState, showPath } from '../session.ts';
import { drawIndexes } from '../show/draw-schema.ts';
import { drawPairs } from '../show/draw-table.ts';
import type { Pair } from '../show/draw-table.ts';
import { countOf } from '../show/text.ts';

const TYPES = INDEX_TYPES.join(', ').replace(/, (\w+)$/, ' or $1');

const CREATE_OPTIONS: readonly Option[] = [
  { name: 'type', value: 'TYPE', help: `${TYPES} (default: chosen by the server)` },
  { name: 'name', value: 'NAME', help: 'name of the index (default: the column, followed by _idx)' },
  { name: 'distance', value: 'TYPE', help: 'for vectors: l2, cosine, dot or hamming' },
  { name: 'num-partitions', value: 'N', help: 'for vectors: number of partitions' },
  { name: 'num-sub-vectors', value: 'N', help: 'for IVF_PQ and IVF_HNSW_PQ: number of sub-vectors' },
  { name: 'num-bits', value: 'N', help: 'for IVF_PQ: 4 or 8; for IVF_RQ: 1 to 9' },
  { name: 'm', value: 'N', help: 'for HNSW: neighbours per vector' },
  { name: 'ef-construction', value: 'N', help: 'for HNSW: candidates per vector during the build' },
  {
    name: 'recall',
    value: 'N',
    help: 'for vectors: share of the true neighbours that searches should find, such as 0.95',
  },
  { name: 'language', value: 'NAME', help: 'for full text: language of stemming and stop words' },
  { name: 'tokenizer', value: 'NAME', help: 'for full text: simple, whitespace, raw, ngram or icu' },
  { name: 'with-position', help: 'for full text: store positions, which phrase queries need' },
  { name: 'no-replace', help: 'fail if an index with this name exists' },
  { name: 'no-wait', help: 'do not wait for the build' },
  BRANCH_OPTION,
];

const CREATE_ABOUT = `Creates an index on a column and waits for it. Without --type, the server looks at the column and says what it chose; it does not replace an index of another type:
  vectors                        IVF_FLAT while the vectors fit into half of the index cache, else IVF_PQ or IVF_HNSW_SQ
  booleans, few distinct values  BITMAP
  text of several words          FTS (full-text search); for shorter text BTREE or BITMAP
  lists                          LABEL_LIST
  other values                   BTREE`;

export const indexCommands: readonly Command[] = [
  defineTableCommand({
    words: ['index', 'create'],
    names: 'COLUMN',
    summary: 'create an index on a column',
    about: CREATE_ABOUT,
    options: CREATE_OPTIONS,
    examples: [
      'index create orders city',
      'index create orders city --type BTREE',
      'index create pictures vector --type IVF_PQ --distance cosine --num-partitions 256',
      'index create notes body --type FTS --language English --with-position',
    ],
    async run(session, column = '') {
      const { client, table, given } = session;
      const reply = await startIndex(client, table, readIndex(given, column));
      const { index_name: name, job_id: id } = reply;
      if (given.has('no-wait')) return { reply, text: `Building ${name} in job ${id}.\n` };
      const job = await followJob(session, id, `building ${name}`);
      if (job === undefined) return EXIT.failed;
      const stats = await indexStats(client, table, name, readBranch(given));
      const built = `Built the index ${name}: ${stats.index_type} on ${showPath(table)}, ${countOf(stats.num_indexed_rows, 'row')}`;
      const why =
        reply.index_type_reason === undefined ? '' : `Chose ${stats.index_type}: ${reply.index_type_reason}.\n`;
      const text = `${built}\n${why}${describeSearch(stats)}`;
      return { reply: { ...reply, job_state: job.job_state, ...job.result }, text };
    },
  }),
  defineTableCommand({
    words: ['index', 'list'],
    summary: 'list the indexes of a table',
    options: STATE_OPTIONS,
    examples: ['index list orders', 'index list orders --at 3 --json'],
    async run(session) {
      const { client, table, canvas } = session;
      const indexes = await listIndexes(client, table, await readState(session));
      const none = `${showPath(table)} has no indexes.`;
      return { reply: { indexes }, text: drawIndexes(indexes, canvas), none };
    },
  }),
  defineTableCommand({
    words: ['index', 'stats'],
    names: 'INDEX',
    summary: 'show the type, size and recall of an index',
    options: STATE_OPTIONS,
    examples: ['index stats orders city_idx'],
    async run(session, name = '') {
      const { client, table, canvas } = session;
      const state = await readState(session);
      const [stats, all] = await Promise.all([
        indexStats(client, table, name, state),
        listIndexes(client, table, state),
      ]);
      const size = all.find(({ index_name: each }) => each === name)?.size_bytes;
      const pairs: Pair[] = [
        ['type', stats.index_type],
        ['rows', formatCount(stats.num_indexed_rows)],
        ['not indexed', formatCount(stats.num_unindexed_rows)],
      ];
      if (stats.distance_type !== undefined) pairs.push(['distance', stats.distance_type]);
      if (stats.num_indices !== undefined) pairs.push(['parts', formatCount(stats.num_indices)]);
      if (size !== undefined) pairs.push(['size', formatBytes(size)]);
      if (stats.search !== undefined) pairs.push(...searchPairs(stats.search));
      return { reply: stats, text: drawPairs(pairs, canvas) };
    },
  }),
  defineTableCommand({
    words: ['index', 'drop'],
    names: 'INDEX',
    summary: 'drop an index',
    options: [BRANCH_OPTION],
    examples: ['index drop orders city_idx'],
    async run({ client, table, given }, name = '') {
      const reply = await dropIndex(client, table, name, readBranch(given));
      return { reply, text: `Dropped the index ${name} of ${showPath(table)}, version ${reply.version}.\n` };
    },
  }),
];

const UNMEASURED = 'Recall is not measured: that needs at least 1,000 rows, and one vector per row.\n';

function describeSearch({ index_type: type, search }: Pick<IndexStatsReply, 'index_type' | 'search'>): string {
  if (search === undefined) return type.startsWith('IVF_') ? UNMEASURED : '';
  const advice = search.advice === undefined ? '' : `${search.advice}\n`;
  return `Searches find ${formatShare(search.recall)} of the true neighbours with ${formatSearchSettings(search)}.\n${advice}`;
}

function searchPairs({ advice, filtered, ...search }: IndexSearch): Pair[] {
  return [
    [
      'recall',
      `${formatShare(search.recall)} with ${formatSearchSettings(search)} (target ${formatShare(search.recall_target)})`,
    ],
    ...filtered.map((each): Pair => {
      return [
        `with a ${formatShare(each.share)} filter`,
        `${formatShare(each.recall)} with ${formatSearchSettings(each)}`,
      ];
    }),
    ['measured', search.tuned_at],
    ...(advice === undefined ? [] : [['advice', advice] as Pair]),
  ];
}

function readIndex(given: Given, column: string): CreateIndexBody {
  return {
    column,
    ...defined({
      index_type: given.value('type')?.toUpperCase(),
      recall_target: readRecall(given),
      name: given.value('name'),
      distance_type: given.value('distance'),
      language: given.value('language'),
      base_tokenizer: given.value('tokenizer'),
      num_partitions: readNumber(given, 'num-partitions', 1),
      num_sub_vectors: readNumber(given, 'num-sub-vectors', 1),
      num_bits: readNumber(given, 'num-bits', 1),
      m: readNumber(given, 'm', 1),
      ef_construction: readNumber(given, 'ef-construction', 1),
      with_position: given.has('with-position') || undefined,
      replace: given.has('no-replace') ? false : undefined,
    }),
    ...readBranch(given),
  };
}
