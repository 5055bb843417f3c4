import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { readMergeSettings } from '../../../src/operations/data/merge-settings.ts';
import type { MergeAsked } from '../../../src/operations/data/merge-settings.ts';
import { testLimits } from '../../support/limits.ts';
import { refusalOf } from '../../support/refusal.ts';

const NOW = 5000;

interface Asked {
  readonly query?: Readonly<Record<string, string>>;
  readonly on?: readonly string[];
  readonly header?: string;
  readonly dialect?: MergeAsked['dialect'];
}

function read({ query = {}, on = ['id'], header, dialect = 'lance' }: Asked) {
  const request: MergeAsked = {
    query: { when_not_matched_insert_all: 'true', ...query },
    queryLists: { on },
    dialect,
    header: (name) => (name === 'x-request-timeout-ms' ? header : undefined),
  };
  return readMergeSettings(request, testLimits().sql, NOW);
}

suite('the settings of a merge', () => {
  test('name each key once, in the order given', () => {
    assert.deepEqual(read({ on: ['b', 'a', 'b', '`x.y`'] }).on, [['b'], ['a'], ['x.y']]);
  });

  test('use an index only when asked, but for the LanceDB family', () => {
    assert.equal(read({}).useIndex, false);
    assert.equal(read({ dialect: 'lancedb' }).useIndex, true);
    assert.equal(read({ dialect: 'lancedb', query: { use_index: 'false' } }).useIndex, false);
    assert.equal(read({ query: { use_index: 'TRUE' } }).useIndex, true);
  });

  test('end when the shorter of two times is over', () => {
    const times: readonly (readonly [Asked, number | undefined])[] = [
      [{}, undefined],
      [{ query: { timeout: '30s' } }, NOW + 30_000],
      [{ query: { timeout: '500ms' } }, NOW + 500],
      [{ query: { timeout: '1.5m' } }, NOW + 90_000],
      [{ query: { timeout: '2h' } }, NOW + 7_200_000],
      [{ query: { timeout: '7' } }, NOW + 7000],
      [{ header: '1200' }, NOW + 1200],
      [{ query: { timeout: '1s' }, header: '1200' }, NOW + 1000],
    ];
    for (const [asked, deadline] of times) assert.equal(read(asked).deadline, deadline);
  });

  test('keep filters in parentheses, so that nothing follows them', () => {
    const query = { when_matched_update_all: 'true', when_matched_update_all_filt: 'target.a > source.a' };
    assert.equal(read({ query }).updateFilter, '(target.a > source.a)');
  });

  test('are refused when they are not clear', () => {
    for (const asked of [
      { on: [] },
      { on: ['a..b'] },
      { on: Array.from({ length: 65 }, (_unused, index) => `c${index}`) },
      { query: { timeout: 'soon' } },
      { query: { timeout: '-1s' } },
      { header: '1e3' },
      { query: { use_index: 'maybe' } },
      { query: { when_not_matched_insert_all: 'false' } },
      { query: { when_matched_update_all_filt: 'true' } },
    ]) {
      assert.equal(refusalOf(() => read(asked)).kind, 'InvalidInput');
    }
  });

  test('whatever the time says, give a moment that is not before now, or a refusal', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^\d{1,12}(\.\d{1,3})?(ms|s|m|h)?$/)), (timeout) => {
        try {
          const { deadline } = read({ query: { timeout } });
          return deadline !== undefined && deadline >= NOW && Number.isFinite(deadline);
        } catch (error) {
          return error instanceof ServiceError && error.kind === 'InvalidInput';
        }
      }),
    );
  });
});
