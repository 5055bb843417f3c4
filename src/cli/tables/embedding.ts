import { describeEmbeddings, updateFieldMetadata } from '../../client/columns.ts';
import { describeTable } from '../../client/tables.ts';
import {
  EMBEDDING_DIMENSIONS_KEY,
  EMBEDDING_MODEL_KEY,
  EMBEDDING_PREFIX_KEY,
  EMBEDDING_SOURCE_KEY,
} from '../../model/derived/embedding.ts';
import { findDimension, listColumns } from '../../plans/table-facts.ts';
import { defineTableCommand } from '../client-command.ts';
import { UsageError } from '../command.ts';
import { readNumber } from '../options.ts';
import type { Given } from '../options.ts';
import { BRANCH_OPTION, readBranch, showPath } from '../session.ts';
import type { TableSession } from '../session.ts';

export const embeddingCommand = defineTableCommand({
  words: ['column', 'embedding'],
  names: 'COLUMN',
  summary: 'record which embedding model created the vectors of a column',
  about: `Records the model in the metadata of a vector column, so that "tiltyard query --meaning" can search it. The vectors do not change: name the model that created them.`,
  options: [
    { name: 'model', value: 'NAME', help: 'model, as the embedding provider of the server calls it' },
    { name: 'source', value: 'COLUMN', help: 'column of the texts that the vectors were created from' },
    { name: 'query-prefix', value: 'TEXT', help: 'text to put in front of search texts, if the model needs it' },
    { name: 'dimensions', value: 'N', help: 'length of the vectors, if the model was asked to shorten them' },
    { name: 'remove', help: 'remove what is recorded' },
    BRANCH_OPTION,
  ],
  examples: [
    'column embedding articles vector --model text-embedding-3-small --source body',
    'column embedding articles vector --model nomic-embed-text --query-prefix "search_query: "',
    'column embedding articles vector --remove',
  ],
  async run(session, column = '') {
    const { client, table, given } = session;
    const metadata = readEntries(given);
    await requireColumns(session, column);
    const body = { updates: [{ path: column, metadata }], ...readBranch(given) };
    const reply = await updateFieldMetadata(client, table, body);
    const place = `${column} of ${showPath(table)}, version ${reply.version}.\n`;
    const model = given.value('model');
    if (model === undefined) return { reply, text: `Removed the model of ${place}` };
    const notice = await explainOffer(session, model);
    return { reply, text: `Recorded the model ${model} for ${place}`, ...(notice !== undefined && { notice }) };
  },
});

/** Sets all entries, because those of another model would be wrong. */
function readEntries(given: Given): Record<string, string | null> {
  const [model, source, prefix] = ['model', 'source', 'query-prefix'].map((name) => given.value(name));
  if ((model === undefined) !== given.has('remove')) throw new UsageError('Give --model NAME, or --remove.');
  const dimensions = readNumber(given, 'dimensions', 1);
  if (model === undefined && (source ?? prefix ?? dimensions) !== undefined) {
    throw new UsageError('--source, --query-prefix and --dimensions need --model.');
  }
  return {
    [EMBEDDING_MODEL_KEY]: model ?? null,
    [EMBEDDING_SOURCE_KEY]: source ?? null,
    [EMBEDDING_PREFIX_KEY]: prefix ?? null,
    [EMBEDDING_DIMENSIONS_KEY]: dimensions?.toString() ?? null,
  };
}

async function requireColumns({ client, table, given }: TableSession, column: string): Promise<void> {
  const { schema } = await describeTable(client, table, readBranch(given));
  const columns = listColumns(schema);
  const found = columns.find(({ path }) => path === column);
  if (found === undefined || findDimension(found.type) === undefined) {
    const vectors = columns.filter(({ type }) => findDimension(type) !== undefined).map(({ path }) => path);
    const others = vectors.length === 0 ? 'It has none.' : `It has ${vectors.join(', ')}.`;
    throw new UsageError(`${showPath(table)} has no vector column ${column}. ${others}`);
  }
  const source = given.value('source');
  if (source === undefined || columns.some(({ path }) => path === source)) return;
  const names = columns.map(({ path }) => path).join(', ');
  throw new UsageError(`${showPath(table)} has no column ${source}. It has ${names}.`);
}

/** The record outlives a server's settings, so a different model is not an error. */
async function explainOffer({ client }: TableSession, model: string): Promise<string | undefined> {
  const { models } = await describeEmbeddings(client);
  if (models.includes(model)) return undefined;
  return models.length === 0
    ? '"tiltyard query --meaning" needs an embedding provider, and this server has none.'
    : `This server does not offer ${model}, which "tiltyard query --meaning" needs. It offers ${models.join(', ')}.`;
}
