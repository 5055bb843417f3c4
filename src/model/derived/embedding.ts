import { isObject, parseJson } from '../strict-json.ts';

/** Field metadata of a vector column: the model of its vectors. */
export const EMBEDDING_MODEL_KEY = 'tiltyard.embedding.model';

/** The column with the texts of the vectors; for people. */
export const EMBEDDING_SOURCE_KEY = 'tiltyard.embedding.source';

/** Prefix for search texts, for models that treat queries and documents differently. */
export const EMBEDDING_PREFIX_KEY = 'tiltyard.embedding.query_prefix';

/** The vector length to request from models that can shorten their vectors. */
export const EMBEDDING_DIMENSIONS_KEY = 'tiltyard.embedding.dimensions';

/** Schema metadata in which LanceDB clients record their embedding functions. */
const LANCEDB_KEY = 'embedding_functions';

export interface EmbeddingModel {
  readonly model: string;
  readonly queryPrefix: string;
  /** The length to request; if absent, the model chooses it. */
  readonly dimensions?: number;
}

interface EmbeddedColumn {
  /** A field path. */
  readonly column: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly schemaMetadata: ReadonlyMap<string, string>;
}

/** As recorded, unvalidated: any writer of the table may have set it. */
export function findEmbeddingModel({ column, metadata, schemaMetadata }: EmbeddedColumn): EmbeddingModel | undefined {
  const queryPrefix = metadata.get(EMBEDDING_PREFIX_KEY) ?? '';
  const model = metadata.get(EMBEDDING_MODEL_KEY);
  if (model !== undefined) return { model, queryPrefix, ...readDimensions(metadata.get(EMBEDDING_DIMENSIONS_KEY)) };
  const found = findLanceDbModel(schemaMetadata.get(LANCEDB_KEY), column);
  return found === undefined ? undefined : { ...found, queryPrefix };
}

function readDimensions(value: unknown): Pick<EmbeddingModel, 'dimensions'> {
  return /^[1-9]\d{0,5}$/.test(String(value)) ? { dimensions: Number(value) } : {};
}

/**
 * Python writes `[{"vector_column": "v", "model": {"name": "m", "dim": 256}}]`, JavaScript
 * `[{"vectorColumn": "v", "model": {"model": "m"}}]`.
 */
function findLanceDbModel(text: string | undefined, column: string): Omit<EmbeddingModel, 'queryPrefix'> | undefined {
  const parsed = text === undefined ? undefined : parseJson(text);
  const functions: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
  const found = functions.find((each) => isObject(each) && (each['vector_column'] ?? each['vectorColumn']) === column);
  const settings = isObject(found) ? found['model'] : undefined;
  if (!isObject(settings)) return undefined;
  const model = settings['name'] ?? settings['model'];
  return typeof model === 'string' ? { model, ...readDimensions(settings['dim']) } : undefined;
}
