import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCreateSettings } from '../../../src/operations/tables/create-table.ts';
import { testLimits } from '../../support/limits.ts';
import { refusalOf } from '../../support/refusal.ts';

function services(allowedStorageOptions: readonly string[] = [], flags: readonly string[] = []) {
  return { limits: testLimits(flags), allowedStorageOptions };
}

const read = (query: Readonly<Record<string, string>>) => readCreateSettings(query, services());

test('creates without properties or options when nothing is said', () => {
  const settings = read({});
  assert.equal(settings.mode, 'create');
  assert.equal(settings.properties, undefined);
  assert.deepEqual({ ...settings.storageOptions }, {});
});

test('reads the mode in every spelling that clients use', () => {
  for (const mode of ['create', 'Create', 'CREATE']) assert.equal(read({ mode }).mode, 'create');
  for (const mode of ['exist_ok', 'ExistOk', 'EXIST_OK', 'existok']) assert.equal(read({ mode }).mode, 'exist_ok');
  for (const mode of ['overwrite', 'Overwrite']) assert.equal(read({ mode }).mode, 'overwrite');
});

test('refuses any other mode, and lists those there are', () => {
  for (const mode of ['', 'append', 'exist-ok', '"create', ' create']) {
    const refusal = refusalOf(() => read({ mode }));
    assert.equal(refusal.kind, 'InvalidInput');
    assert.equal(refusal.message, `The mode ${JSON.stringify(mode)} is unknown.`);
    assert.equal(refusal.hint, 'Use one of create, exist_ok, overwrite.');
  }
});

test('reads properties as they were written', () => {
  assert.deepEqual({ ...read({ properties: '{"owner":"me","":""}' }).properties }, { owner: 'me', '': '' });
  assert.deepEqual({ ...read({ properties: '{}' }).properties }, {});
});

test('takes a property named like a part of every object for a property', () => {
  const { properties } = read({ properties: '{"toString":"x","constructor":"y"}' });
  assert.deepEqual(Object.entries(properties ?? {}), [
    ['toString', 'x'],
    ['constructor', 'y'],
  ]);
  assert.equal(Object.getPrototypeOf(properties), null);
});

test('refuses properties and options that are no JSON object of strings', () => {
  for (const name of ['properties', 'storage_options']) {
    for (const text of ['', 'x', '[]', 'null', '"a"', '{"a":1}', '{"a":null}', '{"a":{}}', '{"a":"b"', '[["a","b"]]']) {
      const refusal = refusalOf(() => read({ [name]: text }));
      assert.equal(refusal.kind, 'InvalidInput');
      assert.match(
        refusal.message,
        new RegExp(`^The query parameter ${name} (must be a JSON object of strings|is not valid JSON)`),
      );
    }
  }
});

test('refuses properties and options that two readers could read differently, as in a body', () => {
  for (const name of ['properties', 'storage_options']) {
    for (const [text, message] of [
      ['{"a":"1","a":"2"}', /"a" is given twice/],
      ['{"a":"1","\\u0061":"2"}', /"a" is given twice/],
      ['{"__proto__":"x"}', /"__proto__" is not allowed/],
      ['{"a":"\\ud800"}', /unpaired surrogate/],
      [`${'{"a":'.repeat(65)}""${'}'.repeat(65)}`, /is nested more than 64 levels deep/],
      ['{"a":"b"', /is not valid JSON/],
    ] as const) {
      assert.match(refusalOf(() => read({ [name]: text })).message, message);
    }
  }
});

test('refuses more or longer properties than are allowed', () => {
  const small = services([], ['--metadata-properties-max=2', '--metadata-value-bytes-max=4']);
  readCreateSettings({ properties: '{"a":"1234","b":""}' }, small);
  for (const properties of ['{"a":"","b":"","c":""}', '{"a":"12345"}', '{"a":"éée"}']) {
    assert.equal(refusalOf(() => readCreateSettings({ properties }, small)).kind, 'InvalidInput');
  }
});

test('refuses storage options that name credentials or places, unless they are allowed', () => {
  for (const key of ['aws_secret_access_key', 'AWS_ENDPOINT', 'endpoint', 'azure_storage_account_key']) {
    const storage_options = JSON.stringify({ [key]: 'x' });
    assert.equal(refusalOf(() => read({ storage_options })).kind, 'InvalidInput');
    const allowing = services([key.toLowerCase()]);
    assert.deepEqual({ ...readCreateSettings({ storage_options }, allowing).storageOptions }, { [key]: 'x' });
  }
});

test('shows the harmless options of the caller, and never one that the administrator had to allow', () => {
  const storage_options = JSON.stringify({ timeout: '30s', AWS_Session_Token: 'secret' });
  const settings = readCreateSettings({ storage_options }, services(['aws_session_token']));
  assert.deepEqual({ ...settings.shownOptions }, { timeout: '30s' });
  assert.equal(settings.storageOptions['AWS_Session_Token'], 'secret');
});
