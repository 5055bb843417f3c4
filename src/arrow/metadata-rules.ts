import { ServiceError } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';
import type { Field } from '../model/schema.ts';

export const EXTENSION_NAME_KEY = 'ARROW:extension:name';
export const JSON_EXTENSION = 'arrow.json';

const EXTENSION_METADATA_KEY = 'ARROW:extension:metadata';
const EXTENSION_PREFIX = 'ARROW:extension:';

/** Keys by which the storage format steers itself make tables unreadable when a stream sets them. */
export function checkFieldMetadata(field: Field, path: readonly string[]): void {
  for (const key of field.metadata.keys()) {
    const fault = keyFault(key, field);
    if (fault !== undefined) refuse(path, `the metadata key ${quoteForMessage(key)}, which ${fault}`);
  }
  const extension = field.metadata.get(EXTENSION_NAME_KEY);
  if (extension === undefined) return;
  if (extension === '') refuse(path, 'an extension type without a name');
  if (extension.startsWith('lance.')) {
    refuse(path, `the extension type ${quoteForMessage(extension)}, which belongs to the storage format`);
  }
  if (extension === JSON_EXTENSION && field.type.kind === 'utf8' && field.type.layout === 'view') {
    refuse(path, 'JSON text as string views', 'Send JSON as utf8 or large utf8.');
  }
}

function keyFault(key: string, field: Field): string | undefined {
  if (key.startsWith('lance-') || key.startsWith('lance:') || key === 'packed') return 'belongs to the storage format';
  if (!key.startsWith(EXTENSION_PREFIX) || key === EXTENSION_NAME_KEY) return undefined;
  if (key !== EXTENSION_METADATA_KEY) return 'is not part of an Arrow extension type';
  return field.metadata.has(EXTENSION_NAME_KEY) ? undefined : `needs ${quoteForMessage(EXTENSION_NAME_KEY)} beside it`;
}

function refuse(path: readonly string[], what: string, hint = 'Remove it from the field in the stream.'): never {
  const column = quoteForMessage(path.join('.'));
  throw new ServiceError('TableSchemaValidationError', `The column ${column} has ${what}.`, { hint });
}
