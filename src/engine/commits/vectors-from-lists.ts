import { describeType, formatArrowCast } from '../../arrow/schema/type-name.ts';
import { invalidInput } from '../../errors/service-error.ts';
import { formatFieldPath, quotePath, requireField, sqlFieldReference, sqlString } from '../../model/field-path.ts';
import type { DataType, Field, Schema } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import { readSchema } from '../tables/table-handle.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { nameCopies } from '../updates/crossed-update.ts';
import { refuseTypeChange } from './columns.ts';
import type { MultiCommitPlan } from './commit-plan.ts';
import { CommitSequence } from './commit-sequence.ts';
import { hasFractions } from './schema-fit.ts';

export interface VectorConversion {
  /** A top-level column. */
  readonly column: string;
  readonly type: Extract<DataType, { readonly kind: 'fixed-size-list' }>;
}

export async function holdsLists({ tables }: EngineParts, target: WriteTarget, column: string): Promise<boolean> {
  // A table that cannot be opened is reported by the write itself.
  const schema = await tables.use(target, async (table) => table.schema()).catch(() => undefined);
  return schema?.fields.some(({ name, type }) => name === column && type.kind === 'list') === true;
}

/**
 * Converts lists to vectors: calculates a vector column from the lists, drops the lists, and gives the new column their
 * name and metadata. The pipeline makes these commits visible together. The column becomes the last one of the table.
 */
export function planVectorsFromLists(
  parts: EngineParts,
  target: WriteTarget,
  conversion: VectorConversion,
): MultiCommitPlan<object> {
  let commits: CommitSequence | undefined;
  return {
    async prepare() {
      commits = await CommitSequence.open(parts, target);
      await requireLengths(commits, await readSchema(commits.native), conversion);
      return commits;
    },
    async write() {
      if (commits === undefined) throw new Error('The conversion was not prepared.');
      const { native } = commits;
      const schema = await readSchema(native);
      const { name, metadata } = requireField(schema, [conversion.column]);
      const copy = nameCopies([name], schema).get(name) ?? name;
      const column = { name: copy, valueSql: toVectorSql(conversion) };
      await commits.commit(async () => native.addColumns([column]));
      await commits.commit(async () => native.dropColumns([formatFieldPath([name])]));
      const rename = { path: formatFieldPath([copy]), rename: name };
      let { version } = await commits.commit(async () => native.alterColumns([rename]));
      if (metadata.size > 0) {
        const update = { path: formatFieldPath([name]), metadata: Object.fromEntries(metadata), replace: true };
        ({ version } = await commits.commit(async () => native.updateFieldMetadata([update])));
      }
      return { version, outcome: {} };
    },
    close: () => commits?.native.close(),
  };
}

function toVectorSql({ column, type }: VectorConversion): string {
  const text = formatArrowCast(type);
  if (text === undefined) throw invalidInput(`Lists cannot become ${describeType(type)}.`);
  return `arrow_cast(${sqlFieldReference([column])}, ${sqlString(text)})`;
}

/** Checks lengths before anything is written: the engine would turn a vector of another length into null. */
async function requireLengths(
  { native }: CommitSequence,
  schema: Schema,
  { column, type }: VectorConversion,
): Promise<void> {
  refuseTypeChange(schema, [column]);
  requireNumbers(requireField(schema, [column]), type);
  const name = sqlFieldReference([column]);
  const differs = `${name} IS NOT NULL AND coalesce(array_length(${name}), 0) != ${type.length}`;
  const rows = await engineCall(async () => native.countRows(differs));
  if (rows === 0) return;
  const subject = rows === 1 ? '1 row has' : `${rows} rows have`;
  throw invalidInput(
    `${subject} a list in ${quotePath([column])} that does not have ${type.length} values.`,
    `Find them with array_length(${column}) != ${type.length}, and change or delete them first.`,
  );
}

function requireNumbers(field: Field, { item }: VectorConversion['type']): void {
  const { type } = field;
  if (type.kind === 'list' && isNumber(type.item.type) && isNumber(item.type)) {
    if (item.type.kind !== 'int' || !hasFractions(type.item.type)) return;
    throw invalidInput(
      `The column ${quotePath([field.name])} has the type ${describeType(type)}, which cannot become a vector of integers.`,
      'Fractions are not converted to integers. Use a vector of floats.',
    );
  }
  throw invalidInput(
    `The column ${quotePath([field.name])} has the type ${describeType(type)}, which cannot become a vector.`,
    'Only lists of numbers can become vectors.',
  );
}

function isNumber({ kind }: DataType): boolean {
  return kind === 'float' || kind === 'int';
}
