import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load-config.ts';
import { findOwnIssuer } from '../../src/config/config.ts';

function issuerWith(...flags: readonly string[]): string | undefined {
  const loaded = loadConfig({ argv: flags, env: {}, readFile: () => '' });
  assert.ok('config' in loaded, JSON.stringify(loaded));
  return findOwnIssuer(loaded.config);
}

test('on this machine the token endpoint is at the address of the server', () => {
  assert.equal(issuerWith(), 'http://127.0.0.1:2333/oauth');
  assert.equal(issuerWith('--host=localhost', '--port=80', '--base-path=/x'), 'http://localhost:80/x/oauth');
  assert.equal(issuerWith('--host=::1'), 'http://[::1]:2333/oauth');
  assert.equal(issuerWith('--tls-cert=c', '--tls-key=k'), 'https://127.0.0.1:2333/oauth');
});

test('beyond this machine there is none until its address is configured', () => {
  assert.equal(issuerWith('--host=0.0.0.0'), undefined);
  assert.equal(
    issuerWith('--host=0.0.0.0', '--auth-issuer-url=https://t.example.com/oauth//'),
    'https://t.example.com/oauth',
  );
  assert.equal(issuerWith('--auth-token-endpoint=false', '--auth-issuer-url=https://t.example.com'), undefined);
});

test('an address that would send secrets in the clear, or is another issuer, is refused', () => {
  const bad = ['http://t.example.com', 'ftp://x', 'x', 'https://u:p@x', 'https://x?y', 'https://x#y', 'https://x/?'];
  for (const url of bad) {
    const loaded = loadConfig({ argv: [`--auth-issuer-url=${url}`], env: {}, readFile: () => '' });
    assert.ok('faults' in loaded, url);
  }
  const issuers = '[{"issuer":"https://t.example.com","audience":"a"}]';
  const argv = ['--auth-issuer-url=https://t.example.com', `--auth-issuers=${issuers}`];
  const loaded = loadConfig({ argv, env: {}, readFile: () => '' });
  assert.ok('faults' in loaded && loaded.faults.length === 1);
});
