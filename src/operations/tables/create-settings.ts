import { ServiceError } from '../../errors/service-error.ts';
import { parseStrictText } from '../../model/strict-json.ts';
import { guardProperties, guardStorageOptions } from '../../guard/metadata.ts';
import type { QueryValues } from '../operation.ts';
import type { Services } from '../services.ts';
import { readWord } from '../shared/parameters.ts';

export const CREATE_MODES = ['create', 'exist_ok', 'overwrite'] as const;
export type CreateMode = (typeof CREATE_MODES)[number];

export interface CreateSettings {
  readonly mode: CreateMode;
  readonly properties: Record<string, string> | undefined;
  readonly storageOptions: Record<string, string>;
  /** Those that replies repeat. */
  readonly shownOptions: Record<string, string>;
}

export function readCreateSettings(query: QueryValues, services: Services): CreateSettings {
  const { jsonDepthMax } = services.limits.http;
  const properties = readStringMap('properties', query['properties'], jsonDepthMax);
  const storageOptions = readStringMap('storage_options', query['storage_options'], jsonDepthMax) ?? {};
  if (properties !== undefined) guardProperties(properties, 'properties', services.limits.metadata);
  guardStorageOptions(storageOptions, services.allowedStorageOptions);
  const shownOptions = withoutSecrets(storageOptions, services.allowedStorageOptions);
  return { mode: readWord('mode', query['mode'], CREATE_MODES), properties, storageOptions, shownOptions };
}

/** Options that the administrator allowed beside the harmless ones may be credentials, and are not sent back. */
function withoutSecrets(options: Readonly<Record<string, string>>, allowed: readonly string[]): Record<string, string> {
  const hidden = new Set(allowed.map((key) => key.toLowerCase()));
  return Object.fromEntries(Object.entries(options).filter(([key]) => !hidden.has(key.toLowerCase())));
}

function readStringMap(name: string, text: string | undefined, depthMax: number): Record<string, string> | undefined {
  if (text === undefined) return undefined;
  const value = parseStrictText(text, { depthMax, what: `The query parameter ${name}` });
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isMap || !Object.values(value).every((entry) => typeof entry === 'string')) {
    throw new ServiceError('InvalidInput', `The query parameter ${name} is not a JSON object of strings.`, {
      hint: `Send it as ${name}={"key":"value"}, percent-encoded.`,
    });
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Just checked to be an object whose values are all strings. Without a prototype, no key is special.
  return Object.assign(Object.create(null), value) as Record<string, string>;
}
