import { ServiceError } from '../../errors/service-error.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import { childFields } from '../../model/schema.ts';
import type { Field, Schema } from '../../model/schema.ts';
import { checkType, needsStorageVersion22 } from './type-rules.ts';

/** Limits of tables beyond those of Arrow. Most of them the engine would accept, and then never read the table again. */
export function checkSchemaRules(schema: Schema): void {
  if (schema.fields.length === 0) refuse('The schema has no columns.', 'A table has at least one column.');
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
  if (fault !== undefined) refuse(`The column name ${quoteForMessage(name)} ${fault}.`, hint);
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
      const sentence = `The schema has more than one column named ${quotePath([...parent, name])}.`;
      refuse(sentence, 'Columns beside each other need different names.');
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
    // Items of lists may be nameless: they are never addressed by name.
    if (children.some(({ name }) => name === '')) {
      refuse(`The struct ${quotePath(path)} has a field with an empty name.`, 'Give every field of a struct a name.');
    }
  }
  for (const child of children) checkField(child, [...path, child.name], needsVersion22);
}

export const EXTENSION_NAME_KEY = 'ARROW:extension:name';
export const JSON_EXTENSION = 'arrow.json';

const EXTENSION_METADATA_KEY = 'ARROW:extension:metadata';
const EXTENSION_PREFIX = 'ARROW:extension:';

/** Metadata keys that control the storage format make tables unreadable when a stream sets them. */
function checkFieldMetadata(field: Field, path: readonly string[]): void {
  const refuseHaving = (what: string, hint = 'Remove it from the field in the stream.'): never =>
    refuse(`The column ${quotePath(path)} has ${what}.`, hint);
  for (const key of field.metadata.keys()) {
    const fault = keyFault(key, field);
    if (fault !== undefined) refuseHaving(`the metadata key ${quoteForMessage(key)}, which ${fault}`);
  }
  const extension = field.metadata.get(EXTENSION_NAME_KEY);
  if (extension === undefined) return;
  if (extension === '') refuseHaving('an extension type without a name');
  if (extension.startsWith('lance.')) {
    refuseHaving(`the extension type ${quoteForMessage(extension)}, which belongs to the storage format`);
  }
  if (extension === JSON_EXTENSION && field.type.kind === 'utf8' && field.type.layout === 'view') {
    refuseHaving('JSON text as string views', 'Send JSON as utf8 or large utf8.');
  }
}

function keyFault(key: string, field: Field): string | undefined {
  if (key.startsWith('lance-') || key.startsWith('lance:') || key === 'packed') return 'belongs to the storage format';
  if (!key.startsWith(EXTENSION_PREFIX) || key === EXTENSION_NAME_KEY) return undefined;
  if (key !== EXTENSION_METADATA_KEY) return 'is not part of an Arrow extension type';
  return field.metadata.has(EXTENSION_NAME_KEY) ? undefined : `needs ${quoteForMessage(EXTENSION_NAME_KEY)} beside it`;
}

function quotePath(path: readonly string[]): string {
  return quoteForMessage(path.join('.'));
}

function refuse(sentence: string, hint: string): never {
  throw new ServiceError('TableSchemaValidationError', sentence, { hint });
}
