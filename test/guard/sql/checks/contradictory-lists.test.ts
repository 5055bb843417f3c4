import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { guardSql } from '../../../../src/guard/sql/guard-sql.ts';
import { EngineProcess } from '../engine-process.ts';
import { sqlLimits } from '../../limits.ts';

/** Three of them are seeds 20267620, 20267785 and 20268268 of the SQL campaign. */
const OPPOSED = [
  'big NOT IN (1, 7) OR big NOT IN (2)',
  'NOT (big IN (1)) OR NOT (big IN (2, 3))',
  'NOT (big IN (1) AND big IN (2, 3))',
  'NOT (((big IN (10)) AND (big IN (-1, -7))) AND ((price IS NULL) OR TRUE))',
  'NOT (big IN (1, 2) AND big NOT IN (1, 2, 3))',
  'NOT (`big` IN (1) AND ((big)) IN (2, 3))',
  'big NOT IN (1) OR CAST(big AS BIGINT) NOT IN (2)',
  'big NOT IN (1) OR big::BIGINT NOT IN (2)',
  'big + 1 NOT IN (1) OR big + 1 NOT IN (2)',
  '(big IN (1) AND big IN (2)) IS NULL',
  'NOT ((big = 1 OR big = 2) AND (big = 3 OR 4 = big))',
  'NOT ((big = 1 OR big = 2) AND big IN (3, 4))',
  '((p.a = -1 OR p.a = 2) AND p.a NOT IN (- 1, 2, 3)) IS NULL',
  'coalesce(big IN (1) AND big IN (2), TRUE)',
];

/** The optimizer merges the lists into one, without the null. */
const NULLABLE = [
  'big IN (2) AND big NOT IN (7, NULL)',
  'big NOT IN (NULL) AND big IN (1, 2)',
  'big IN (1, 2) AND big NOT IN (7, CAST(NULL AS BIGINT))',
  'big IN (1, 2) AND big NOT IN (7, nullif(id, id))',
  'big IN (1, 2) AND big NOT IN (7, `id`)',
  'big NOT IN (1, NULL) OR big NOT IN (1, 2)',
  'NOT (big IN (1, NULL) AND big IN (1, 2))',
  'NOT (big IN (7, NULL)) AND big IN (1, 2)',
  '(big IN (1, 2) AND big IN (2, NULL)) IS NULL',
  '(big = 1 OR big = 2) AND big NOT IN (7, NULL)',
  'big NOT IN (1, NULL) OR NOT (big = 1 OR big = 2)',
];

/** What people write, whose lists the engine joins rightly. */
const SOUND = [
  'big NOT IN (1, 2) AND big NOT IN (3)',
  'big NOT IN (-1, 2, 3) OR big NOT IN (4, -1)',
  'big NOT IN (1, 2) OR big NOT IN (2, 3)',
  'big IN (1, 2) OR big IN (3)',
  '(big IN (1, 2) AND price = 1) OR (big IN (3) AND NOT flag)',
  'big IN (1, 2) AND big NOT IN (2) AND flag IS NOT NULL',
  'big IN (1) AND big IN (2)',
  'big NOT IN (1) OR price NOT IN (2)',
  'coalesce(big IN (1), flag) AND NOT coalesce(big IN (2), flag)',
  'NOT (big IN (1) OR big IN (2))',
  'big NOT IN (1, NULL) OR big IN (1, 2)',
  'big NOT IN (1, NULL) AND big NOT IN (2)',
  "big IN (1, -2) AND big NOT IN (7, 2) AND name IN ('a') AND name NOT IN ('b')",
  'NOT ((big = 1 OR big = 2) AND (big = 2 OR big = 3))',
  'NOT ((big = 1 OR big = 2) AND (big = 3 OR id = 3))',
  'NOT ((big = 1 OR big = 2) OR (big = 3 OR big = 4))',
  'NOT (big = 1 AND big = 2)',
  '(big = 1000 OR big = 2000) AND big NOT IN (7, 8)',
  'flag IN (TRUE) AND flag NOT IN (FALSE)',
];

describe('lists for one value', () => {
  let engine: EngineProcess;
  before(async () => {
    engine = await EngineProcess.start();
  });
  after(async () => {
    await engine.stop();
  });

  it('are refused where they contradict each other or are always true together and null would count as a match', () => {
    for (const text of OPPOSED)
      assert.throws(() => guard(text), /two lists for .* contradict each other or are always true together/, text);
  });

  it('are refused where a null in one of them would be lost', () => {
    const refusal = { detail: /two lists for .* contradict each other/, hint: /literals without NULL/ };
    for (const text of NULLABLE) assert.throws(() => guard(text), refusal, text);
  });

  it('are compared in good time when they are long', () => {
    const numbers = Array.from({ length: 90_000 }, (_, number) => number).join();
    const limits = { ...sqlLimits, charactersMax: 2_000_000 };
    const text = `NOT (big IN (${numbers}) AND big NOT IN (${numbers}))`;
    assert.throws(
      () => guardSql(text, { name: 'filter', field: 'filter' }, limits),
      /contradict each other or are always true together/,
    );
  });

  it('pass otherwise, and then split the rows into true, false and null', async () => {
    for (const text of SOUND) {
      const sql = guard(text);
      const answers = await engine.rows([sql, `NOT ${sql}`, `${sql} IS NULL`]);
      const rows = answers.flatMap((answer) => (answer.kind === 'rows' ? answer.rows : []));
      assert.equal(new Set(rows).size, 50, text);
      assert.equal(rows.length, 50, text);
    }
  });
});

function guard(text: string): string {
  return guardSql(text, { name: 'filter', field: 'filter' }, sqlLimits);
}
