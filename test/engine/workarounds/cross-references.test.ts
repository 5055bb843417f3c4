import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toAssignmentTree } from '../../../src/engine/updates/assignments.ts';
import { refuseCrossReferences } from '../../../src/engine/workarounds/cross-references.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { parseFieldPath } from '../../../src/model/field-path.ts';
import type { Field, Schema } from '../../../src/model/schema.ts';
import { sql } from '../test-engine.ts';

const int = (name: string): Field => ({
  name,
  nullable: true,
  type: { kind: 'int', bits: 32, signed: true },
  metadata: new Map(),
});
const point: Field = { ...int('point'), type: { kind: 'struct', children: [int('x'), int('b')] } };
const schema: Schema = { fields: [int('a'), int('b'), int('Upper'), point], metadata: new Map() };

function check(...updates: readonly (readonly [string, string])[]): void {
  const assignments = updates.map(([path, expression]) => ({
    path: parseFieldPath(path),
    expression: sql(expression),
  }));
  refuseCrossReferences(toAssignmentTree(assignments), schema);
}

for (const [what, updates] of Object.entries({
  'by its bare name': [
    ['a', 'b + 1'],
    ['b', '2'],
  ],
  'in backticks': [
    ['a', '`b`'],
    ['b', '2'],
  ],
  'in another case': [
    ['a', 'upper + 1'],
    ['Upper', '2'],
  ],
  'from inside a struct': [
    ['point.x', 'b'],
    ['b', '2'],
  ],
  'a struct of which a field is updated': [
    ['a', 'point.x'],
    ['point.b', '2'],
  ],
} satisfies Record<string, readonly (readonly [string, string])[]>)) {
  test(`refuses an expression that reads another updated column, ${what}`, () => {
    assert.throws(
      () => check(...updates),
      (error) => error instanceof ServiceError && error.kind === 'InvalidInput',
    );
  });
}

for (const [what, updates] of Object.entries({
  'its own column': [
    ['a', 'a + 1'],
    ['b', 'b + 1'],
  ],
  'a column that is not updated': [
    ['a', 'Upper'],
    ['b', 'Upper + b'],
  ],
  'a sibling in its own struct': [
    ['point.x', 'point.b'],
    ['point.b', 'point.x'],
  ],
  'a nested field, a literal or a function named like an updated column': [
    ['a', "point.b + length('b') + b(1)"],
    ['b', '1'],
  ],
} satisfies Record<string, readonly (readonly [string, string])[]>)) {
  test(`lets an expression read ${what}`, () => {
    check(...updates);
  });
}
