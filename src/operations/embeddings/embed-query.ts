import { describeType } from '../../arrow/schema/type-name.ts';
import type { Embeddings } from '../../embeddings/embeddings.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { EMBEDDING_DIMENSIONS_KEY, EMBEDDING_MODEL_KEY, findEmbeddingModel } from '../../model/derived/embedding.ts';
import type { EmbeddingModel } from '../../model/derived/embedding.ts';
import { formatFieldPath, quotePath, requireField } from '../../model/field-path.ts';
import type { FieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { Query } from '../../model/query.ts';
import { vectorDimension } from '../../model/schema.ts';
import type { Field, Schema } from '../../model/schema.ts';
import type { TableState } from '../../model/table.ts';
import { formatCount } from '../../model/value-text.ts';
import type { readQueryTimeout } from '../data/read-query.ts';
import type { Services } from '../services.ts';

interface TextQuery {
  readonly text: string;
  readonly state: TableState;
  /** Without a vector. */
  readonly query: Query;
  readonly timeout: ReturnType<typeof readQueryTimeout>;
}

/** Searches for the vector of a text, for a caller who may read the table. */
export async function embedQuery(
  { text, state, query, timeout }: TextQuery,
  { embeddings, engine, limits }: Pick<Services, 'embeddings' | 'engine' | 'limits'>,
): Promise<Query> {
  const { textCharactersMax } = limits.embeddings;
  if (text.trim() === '') throw invalidInput('vector_text is empty.', 'Give the text to search for.');
  if (text.length > textCharactersMax) throw tooLong('vector_text has', text.length, textCharactersMax);
  if (embeddings === undefined) throw notOffered();
  const { schema } = await engine.describeTable(state);
  const { path, dimension, model, queryPrefix, dimensions } = requireEmbeddedColumn(schema, query.vectorColumn);
  requireOffered(path, model, embeddings);
  const whole = queryPrefix + text;
  // The prefix is chosen by a writer of the table.
  if (whole.length > textCharactersMax)
    throw tooLong('vector_text and its prefix have', whole.length, textCharactersMax);
  const vector = await embeddings.embed(
    { model, text: whole, ...(dimensions === undefined ? {} : { dimensions }) },
    { caller: timeout.caller, signal: timeout.signal() },
  );
  if (vector.length !== dimension) {
    throw invalidInput(
      `The model ${quoteForMessage(model)} gives vectors of ${vector.length} dimensions, and the column ${quotePath(path)} has ${dimension}.`,
      `Record in ${EMBEDDING_MODEL_KEY} the model that created the vectors of the column, and in ${EMBEDDING_DIMENSIONS_KEY} their length if the model shortened them.`,
    );
  }
  return { ...query, vectors: [vector], vectorColumn: path };
}

function tooLong(subject: string, characters: number, charactersMax: number): ServiceError {
  return invalidInput(
    `${subject} ${formatCount(characters)} characters; at most ${formatCount(charactersMax)} are allowed.`,
  );
}

function notOffered(): ServiceError {
  return new ServiceError('Unsupported', 'vector_text needs an embedding provider, and this server has none.', {
    hint: 'Send the vector itself. An operator of the server sets embeddings.url and embeddings.models.',
  });
}

interface EmbeddedColumn extends EmbeddingModel {
  readonly path: FieldPath;
  readonly dimension: number;
}

/** The column that the query names, otherwise the only one that records a model. */
function requireEmbeddedColumn(schema: Schema, named: FieldPath | undefined): EmbeddedColumn {
  const candidates = named === undefined ? listVectors(schema.fields) : [requireVector(schema, named)];
  const embedded = candidates.flatMap(({ path, field, dimension }) => {
    const { metadata } = field;
    const column = formatFieldPath(path);
    const recorded = findEmbeddingModel({ column, metadata, schemaMetadata: schema.metadata });
    return recorded === undefined ? [] : [{ path, dimension, ...recorded }];
  });
  const [only] = embedded;
  if (only === undefined) throw noModel(candidates.map(({ path }) => path));
  if (embedded.length === 1) return only;
  const names = embedded.map(({ path }) => quotePath(path)).join(', ');
  throw invalidInput(`Several vector columns record a model: ${names}.`, 'Name one of them as vector_column.');
}

interface VectorField {
  readonly path: FieldPath;
  readonly field: Field;
  readonly dimension: number;
}

function listVectors(fields: readonly Field[], parents: readonly string[] = []): readonly VectorField[] {
  return fields.flatMap((field) => {
    const path = toPath(parents, field.name);
    const dimension = vectorDimension(field.type);
    if (dimension !== undefined) return [{ path, field, dimension }];
    return field.type.kind === 'struct' ? listVectors(field.type.children, path) : [];
  });
}

function toPath([first, ...rest]: readonly string[], name: string): FieldPath {
  return first === undefined ? [name] : [first, ...rest, name];
}

function requireVector(schema: Schema, path: FieldPath): VectorField {
  const field = requireField(schema, path);
  const dimension = vectorDimension(field.type);
  if (dimension !== undefined) return { path, field, dimension };
  const hint = `It is ${describeType(field.type)}; a vector is a fixed-size list of floats.`;
  throw invalidInput(`The column ${quotePath(path)} is not a vector that can be searched.`, hint);
}

const LISTED_MAX = 20;

function noModel(columns: readonly FieldPath[]): ServiceError {
  const names = columns.slice(0, LISTED_MAX).map(quotePath).join(', ');
  if (names === '') return invalidInput('The table has no vector column, which vector_text needs.');
  const message = `No model is recorded for the vectors of ${names}, so a text cannot be compared with them.`;
  const hint = `Set ${EMBEDDING_MODEL_KEY} in the metadata of the column to the name of the model, with update_field_metadata or "tiltyard column embedding".`;
  return invalidInput(message, hint);
}

function requireOffered(path: FieldPath, model: string, { models }: Embeddings): void {
  if (models.includes(model)) return;
  throw invalidInput(
    `The vectors of ${quotePath(path)} were created with the model ${quoteForMessage(model)}, which this server does not offer.`,
    `It offers ${models.join(', ')}. Send the vector itself, or ask an operator to add the model to embeddings.models.`,
  );
}
