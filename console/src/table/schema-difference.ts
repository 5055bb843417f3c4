import type { SchemaJson } from '../../../src/wire/schema/schema-json.ts';
import { listFields, typeText } from '../parts/field-type.ts';

export interface FieldDifference {
  readonly path: string;
  readonly kind: 'added' | 'removed' | 'changed';
  readonly before: string;
  readonly after: string;
}

/** Fields by their paths: a renamed one shows as removed and added. */
export function compareSchemas(older: SchemaJson, newer: SchemaJson): readonly FieldDifference[] {
  const [before, after] = [textsOf(older), textsOf(newer)];
  const paths = [...new Set([...before.keys(), ...after.keys()])];
  return paths.flatMap((path): FieldDifference[] => {
    const [was, is] = [before.get(path), after.get(path)];
    if (was === is) return [];
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    return [{ path, kind, before: was ?? '', after: is ?? '' }];
  });
}

function textsOf(schema: SchemaJson): ReadonlyMap<string, string> {
  return new Map(
    listFields(schema.fields).map(({ path, field }) => {
      const metadata = Object.entries(field.metadata ?? {}).map(([name, value]) => `${name}: ${value}`);
      const words = [typeText(field.type), field.nullable ? '' : 'never null', ...metadata.toSorted()];
      return [path, words.filter((word) => word !== '').join(', ')];
    }),
  );
}
