import { dropIndex, indexStats, listIndexes, startIndex } from '../../client/indexes.ts';
import { formatBytes, formatCount } from '../../plans/format-figure.ts';
import type { CreateIndexBody } from '../../wire/indexes.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import { CommandFault, EXIT } from '../command.ts';
import type { Command } from '../command.ts';
import { followJob, BRANCH_OPTION, STATE_OPTIONS, readBranch, readState } from '../session.ts';
import { readNumber } from '../options.ts';
import type { Given, Option } from '../options.ts';
import { countOf } from '../show/text.ts';
import { drawIndexes } from '../show/draw-schema.ts';
import { drawPairs } from '../show/draw-table.ts';

const TYPES = 'IVF_FLAT, IVF_PQ, IVF_RQ, IVF_HNSW_SQ, IVF_HNSW_PQ, BTREE, BITMAP, LABEL_LIST, FM or FTS';

const CREATE_OPTIONS: readonly Option[] = [
  { name: 'type', value: 'TYPE', help: TYPES },
  { name: 'name', value: 'NAME', help: 'name of the index; the column followed by _idx when absent' },
  { name: 'distance', value: 'TYPE', help: 'of vectors: l2, cosine, dot or hamming' },
  { name: 'num-partitions', value: 'N', help: 'of vectors: how many partitions' },
  { name: 'num-sub-vectors', value: 'N', help: 'of IVF_PQ and IVF_HNSW_PQ' },
  { name: 'num-bits', value: 'N', help: 'of IVF_PQ: 4 or 8; of IVF_RQ: 1 to 9' },
  { name: 'm', value: 'N', help: 'of HNSW: neighbours of a vector' },
  { name: 'ef-construction', value: 'N', help: 'of HNSW: candidates looked at while it is built' },
  { name: 'language', value: 'NAME', help: 'of full text: language of stems and stop words' },
  { name: 'tokenizer', value: 'NAME', help: 'of full text: simple, whitespace, raw, ngram or icu' },
  { name: 'with-position', help: 'of full text: keep positions, which phrases need' },
  { name: 'no-replace', help: 'refuse when there is an index of this name' },
  { name: 'no-wait', help: 'return at once; the build goes on' },
  BRANCH_OPTION,
];

const createIndex = defineClientCommand({
  words: ['index', 'create'],
  names: 'TABLE COLUMN',
  summary: 'build an index on a column, and wait for it',
  options: CREATE_OPTIONS,
  examples: [
    'index create orders city --type BTREE',
    'index create pictures vector --type IVF_PQ --distance cosine --num-partitions 256',
    'index create notes body --type FTS --language English --with-position',
  ],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const reply = await startIndex(client, table, readIndex(given));
    if (given.has('no-wait')) {
      return answer(session, reply, `${reply.index_name} is being built by the job ${reply.job_id}.\n`);
    }
    const job = await followJob(session, reply.job_id, `building ${reply.index_name}`);
    if (job === undefined) return EXIT.failed;
    const stats = await indexStats(client, table, reply.index_name, readBranch(given));
    const shown = `${reply.index_name}: ${stats.index_type} on ${showPath(table)}, ${countOf(stats.num_indexed_rows, 'row')}\n`;
    return answer(session, { ...reply, job_state: job.job_state, ...job.result }, shown);
  },
});

function readIndex(given: Given): CreateIndexBody {
  const type = given.value('type');
  if (type === undefined) throw new CommandFault([`Say which index with --type: ${TYPES}.`]);
  const number = (name: keyof CreateIndexBody, option: string) => {
    const value = readNumber(given, option, { minimum: 1 });
    return value === undefined ? {} : { [name]: value };
  };
  return {
    column: given.names[1] ?? '',
    index_type: type.toUpperCase(),
    ...textField('name', given.value('name')),
    ...textField('distance_type', given.value('distance')),
    ...textField('language', given.value('language')),
    ...textField('base_tokenizer', given.value('tokenizer')),
    ...number('num_partitions', 'num-partitions'),
    ...number('num_sub_vectors', 'num-sub-vectors'),
    ...number('num_bits', 'num-bits'),
    ...number('m', 'm'),
    ...number('ef_construction', 'ef-construction'),
    ...(given.has('with-position') ? { with_position: true } : {}),
    ...(given.has('no-replace') ? { replace: false } : {}),
    ...readBranch(given),
  };
}

function textField(name: keyof CreateIndexBody, value: string | undefined): Partial<CreateIndexBody> {
  return value === undefined ? {} : { [name]: value };
}

const listCommand = defineClientCommand({
  words: ['index', 'list'],
  names: 'TABLE',
  summary: 'list the indexes of a table, and how many rows they cover',
  options: STATE_OPTIONS,
  examples: ['index list orders', 'index list orders --at 3 --json'],
  async run(session) {
    const { client, given, terminal, isJson } = session;
    const table = requireTable(given);
    const indexes = await listIndexes(client, table, await readState(client, table, given));
    if (indexes.length === 0 && !isJson) {
      terminal.err(`${showPath(table)} has no indexes.\n`);
      return 0;
    }
    return answer(session, { indexes }, drawIndexes(indexes, session.canvas));
  },
});

const statsCommand = defineClientCommand({
  words: ['index', 'stats'],
  names: 'TABLE INDEX',
  summary: 'show what an index covers',
  options: STATE_OPTIONS,
  examples: ['index stats orders city_idx'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const name = given.names[1] ?? '';
    const state = await readState(client, table, given);
    const [stats, all] = await Promise.all([indexStats(client, table, name, state), listIndexes(client, table, state)]);
    const size = all.find(({ index_name: each }) => each === name)?.size_bytes;
    const pairs: (readonly [string, string])[] = [
      ['type', stats.index_type],
      ['rows', formatCount(stats.num_indexed_rows)],
      ['not yet in it', formatCount(stats.num_unindexed_rows)],
    ];
    if (stats.distance_type !== undefined) pairs.push(['distance', stats.distance_type]);
    if (stats.num_indices !== undefined) pairs.push(['parts', formatCount(stats.num_indices)]);
    if (size !== undefined) pairs.push(['size', formatBytes(size)]);
    return answer(session, stats, drawPairs(pairs, session.canvas));
  },
});

const dropCommand = defineClientCommand({
  words: ['index', 'drop'],
  names: 'TABLE INDEX',
  summary: 'drop an index',
  options: [BRANCH_OPTION],
  examples: ['index drop orders city_idx'],
  async run(session) {
    const { client, given } = session;
    const table = requireTable(given);
    const name = given.names[1] ?? '';
    const reply = await dropIndex(client, table, name, readBranch(given));
    return answer(session, reply, `The index ${name} of ${showPath(table)} is dropped (version ${reply.version}).\n`);
  },
});

export const indexCommands: readonly Command[] = [createIndex, listCommand, statsCommand, dropCommand];
