import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadNative } from '../../../src/engine/native/native.ts';
import { engineMissing } from '../../../src/engine/native/engine-binary.ts';
import { readEngineRelease, requireRootSupport } from '../../../src/engine/native/engine-release.ts';
import { openTestEngine } from '../test-engine.ts';

const MAIN = { version: '0.39.0', isFallback: false };
const FALLBACK = { version: '0.31.0', isFallback: true };

test('the release that is read is that of the engine that loads', () => {
  const { version, isFallback } = readEngineRelease();
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.equal(isFallback, version === FALLBACK.version);
  assert.equal(typeof loadNative().Connection.new, 'function');
});

test('the fallback refuses object stores and says why; folders are served', () => {
  for (const root of ['s3://bucket/x', 'gs://bucket', 'az://container/x']) {
    requireRootSupport(root, MAIN);
    assert.throws(() => requireRootSupport(root, FALLBACK), {
      kind: 'Unsupported',
      message: /0\.31\.0 does not support object stores: .* when a reply is lost/,
      hint: /Use a local folder, or a platform for which LanceDB 0\.39/,
    });
  }
  for (const root of ['/srv/tables', 'file:///srv/tables']) requireRootSupport(root, FALLBACK);
});

test('an address that the engine reads differently from the server is refused', () => {
  for (const release of [MAIN, FALLBACK]) {
    assert.throws(() => requireRootSupport('s3://bucket/a%20b', release), {
      kind: 'Unsupported',
      message: 'The storage root of the database must not contain "%20", which the engine decodes.',
      hint: 'Write the character itself.',
    });
  }
});

test('an engine that is the fallback opens no table in an object store, and prepares no root there', async (t) => {
  const { engine } = await openTestEngine(t);
  if (!engine.release.isFallback) return t.skip('the main engine serves object stores');
  const location = { kind: 'listed', root: 's3://bucket/x', directory: 'a' } as const;
  await assert.rejects(engine.describeTable({ location, branch: undefined, version: undefined }), {
    kind: 'Unsupported',
  });
  await assert.rejects(engine.lifecycle.ensureRoot('s3://bucket/x', 's3://bucket'), { kind: 'Unsupported' });
});

test('a missing engine is reported in one line that says what to run', () => {
  const { detail } = engineMissing(new Error('Cannot find module /secret'));
  assert.match(detail, /could not be loaded on \w+-\w+\. Install Tiltyard again, .* run "npm ci"\.$/);
  assert.doesNotMatch(detail, /\n|secret/);
});
