import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsReference } from '../../../src/config/config.ts';
import { SETTINGS } from '../../../src/config/settings/settings.ts';

test('gives every setting a different variable and flag', () => {
  const rows = settingsReference();
  assert.equal(rows.length, SETTINGS.size);
  for (const key of ['name', 'env', 'flag'] as const) {
    assert.equal(new Set(rows.map((row) => row[key])).size, rows.length, key);
  }
});

test('derives variable and flag from the name', () => {
  const row = settingsReference().find((each) => each.name === 'arrow.columnsMax');
  assert.equal(row?.env, 'TILTYARD_ARROW_COLUMNS_MAX');
  assert.equal(row?.flag, '--arrow-columns-max');
  assert.equal(settingsReference().find((each) => each.name === 'query.kMax')?.env, 'TILTYARD_QUERY_K_MAX');
});

test('documents every setting in one line', () => {
  for (const row of settingsReference()) {
    assert.match(row.help, /^[^\n]{10,120}\.$/, row.name);
    assert.notEqual(row.default, '', row.name);
  }
});

test('accepts its own default, as a value and as it is shown', () => {
  for (const [name, setting] of SETTINGS) {
    if (setting.default === undefined) continue;
    assert.deepEqual(setting.read(setting.default), { value: setting.default }, name);
    if (typeof setting.default !== 'number') continue;
    assert.deepEqual(setting.read(setting.show(setting.default)), { value: setting.default }, name);
  }
});

test('refuses numbers that are negative, endless, broken or beyond the range', () => {
  for (const [name, setting] of SETTINGS) {
    if (typeof setting.default !== 'number') continue;
    for (const raw of [-1, '-1', Number.NaN, Number.POSITIVE_INFINITY, 1e300, '', ' ', 'ten', true, null, [1]]) {
      assert.ok('faults' in setting.read(raw), `${name} took ${String(raw)}`);
    }
  }
});

test('keeps the defaults below what a stream of three thousand columns needs', () => {
  assert.equal(SETTINGS.get('arrow.columnsMax')?.default, 2000);
});
