import { invalidInput } from '../../errors/service-error.ts';
import type { ServiceError } from '../../errors/service-error.ts';
import { readTokens } from '../../guard/sql/tokenizer.ts';
import type { SqlToken } from '../../guard/sql/tokenizer.ts';
import { quotePath } from '../../model/field-path.ts';
import type { GuardedSql } from '../../model/query.ts';
import type { Schema } from '../../model/schema.ts';
import type { AssignmentNode, AssignmentTree } from '../updates/assignments.ts';

/**
 * The engine computes the columns of one update one after the other, in an order that changes from call to call, each
 * from what the ones before it have written. An expression that reads another updated column would see its old value or
 * its new one by chance, so it is refused. A column may read itself: fields of one struct are one column.
 */
export function refuseCrossReferences(tree: AssignmentTree, schema: Schema): void {
  for (const [column, node] of tree) {
    for (const expression of expressionsOf(node)) {
      const other = referredColumns(expression, schema).find((name) => name !== column && tree.has(name));
      if (other !== undefined) throw readsUpdated(column, other);
    }
  }
}

function* expressionsOf(node: AssignmentNode): Generator<GuardedSql> {
  if (node.kind === 'value') yield node.expression;
  else for (const child of node.fields.values()) yield* expressionsOf(child);
}

function referredColumns(expression: GuardedSql, schema: Schema): readonly string[] {
  const tokens = [...readTokens(expression)];
  return tokens.flatMap((token, index) => {
    const isInner = tokens[index - 1]?.text === '.' || tokens[index + 1]?.text === '(';
    const column = isInner ? undefined : findColumn(token, schema);
    return column === undefined ? [] : [column];
  });
}

/** As the engine resolves names: exactly, else a bare word without regard to case. */
function findColumn(token: SqlToken, schema: Schema): string | undefined {
  if (token.kind !== 'word' && token.kind !== 'quoted-name') return undefined;
  const names = schema.fields.map((field) => field.name);
  const lower = token.text.toLowerCase();
  return names.find((name) => name === token.text) ?? names.find((name) => name.toLowerCase() === lower);
}

function readsUpdated(column: string, other: string): ServiceError {
  const [reader, read] = [column, other].map((name) => quotePath([name]));
  return invalidInput(
    `The expression for ${reader} reads ${read}, which the same request updates.`,
    'Whether it would see the old value or the new one is not certain; send the two updates one after the other.',
  );
}
