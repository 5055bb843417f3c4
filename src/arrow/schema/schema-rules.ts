import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { childFields } from '../../model/schema.ts';
import type { Field, Schema } from '../../model/schema.ts';
import { needsStorageVersion22, checkType } from './type-rules.ts';

/**
 * What a table can hold, beyond what Arrow can say. Most of these the engine would accept, and then be unable to read
 * the table ever again.
 */
export function checkSchemaRules(schema: Schema): void {
  if (schema.fields.length === 0) {
    throw new ServiceError('TableSchemaValidationError', 'The schema has no columns.', {
      hint: 'A table has at least one column.',
    });
  }
  for (const field of schema.fields) checkColumnName(field.name, 'Rename the column in the stream.');
  checkSiblings(schema.fields, []);
  const needsVersion22 = needsStorageVersion22(schema);
  for (const field of schema.fields) checkField(field, [field.name], needsVersion22);
}

/** The engine adds columns of these names to what it reads. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  '_rowid',
  '_rowaddr',
  '_rowoffset',
  '_row_created_at_version',
  '_row_last_updated_at_version',
  '_distance',
  '_score',
  '_relevance_score',
]);

/** Of a top-level column. */
export function checkColumnName(name: string, hint = 'Choose another name.'): void {
  const fault = topLevelNameFault(name);
  if (fault === undefined) return;
  throw new ServiceError('TableSchemaValidationError', `The column name ${quoteForMessage(name)} ${fault}.`, { hint });
}

function topLevelNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.includes('.')) return 'contains a dot, which separates a struct from its fields';
  if (name.includes('`')) return 'contains a backtick, which the storage engine cannot read back';
  if (RESERVED_NAMES.has(name)) return 'is reserved for what a query adds to its rows';
  return undefined;
}

function checkSiblings(fields: readonly Field[], parent: readonly string[]): void {
  const names = new Set<string>();
  for (const { name } of fields) {
    if (names.has(name)) {
      const path = quoteForMessage([...parent, name].join('.'));
      throw new ServiceError('TableSchemaValidationError', `The schema has more than one column named ${path}.`, {
        hint: 'Columns beside each other need different names.',
      });
    }
    names.add(name);
  }
}

function checkField(field: Field, path: readonly string[], needsVersion22: boolean): void {
  checkFieldMetadata(field, path);
  checkType(field, path, needsVersion22);
  const children = childFields(field.type);
  if (field.type.kind === 'struct') {
    checkSiblings(children, path);
    checkChildNames(children, path);
  }
  for (const child of children) checkField(child, [...path, child.name], needsVersion22);
}

/** Items of lists may be nameless: nobody addresses them by name. */
function checkChildNames(children: readonly Field[], parent: readonly string[]): void {
  if (children.every(({ name }) => name !== '')) return;
  const path = quoteForMessage(parent.join('.'));
  throw new ServiceError('TableSchemaValidationError', `The struct ${path} has a field with an empty name.`, {
    hint: 'Give every field of a struct a name.',
  });
}

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
