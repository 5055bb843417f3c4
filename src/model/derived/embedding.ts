import { isObject, parseJson } from '../strict-json.ts';

/** Field metadata of a vector column: which model its vectors are of. */
export const EMBEDDING_MODEL_KEY = 'tiltyard.embedding.model';

/** The column of the texts that the vectors were made from; for people. */
export const EMBEDDING_SOURCE_KEY = 'tiltyard.embedding.source';

/** Put in front of a text that is searched for, as models need that treat queries and documents differently. */
export const EMBEDDING_PREFIX_KEY = 'tiltyard.embedding.query_prefix';

/** Schema metadata in which LanceDB clients record the embedding functions that they call. */
const LANCEDB_KEY = 'embedding_functions';

export interface EmbeddingModel {
  readonly model: string;
  readonly queryPrefix: string;
}

interface EmbeddedColumn {
  /** A field path. */
  readonly column: string;
  readonly metadata: ReadonlyMap<string, string>;
  readonly schemaMetadata: ReadonlyMap<string, string>;
}

/** As it is recorded, unchecked: any writer of the table may have set it. */
export function findEmbeddingModel({ column, metadata, schemaMetadata }: EmbeddedColumn): EmbeddingModel | undefined {
  const model = metadata.get(EMBEDDING_MODEL_KEY) ?? findLanceDbModel(schemaMetadata.get(LANCEDB_KEY), column);
  return model === undefined ? undefined : { model, queryPrefix: metadata.get(EMBEDDING_PREFIX_KEY) ?? '' };
}

/** Python writes `[{"vector_column": "v", "model": {"name": "m"}}]`, JavaScript `[{"vectorColumn": "v", "model": {"model": "m"}}]`. */
function findLanceDbModel(text: string | undefined, column: string): string | undefined {
  const parsed = text === undefined ? undefined : parseJson(text);
  const functions: readonly unknown[] = Array.isArray(parsed) ? parsed : [];
  const found = functions.find((each) => isObject(each) && (each['vector_column'] ?? each['vectorColumn']) === column);
  const settings = isObject(found) ? found['model'] : undefined;
  const model = isObject(settings) ? (settings['name'] ?? settings['model']) : undefined;
  return typeof model === 'string' ? model : undefined;
}
