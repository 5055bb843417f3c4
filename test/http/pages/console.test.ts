import assert from 'node:assert/strict';
import test from 'node:test';
import { startServer } from '../../support/server.ts';

test('the console is one page, and its policy allows scripts and styles of this server only', async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const page = await fetch(`${server.url}/ui/`);
  assert.equal(page.status, 200);
  assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*script-src 'self'/);
  const text = await page.text();
  const parts = [...text.matchAll(/(?:src|href)="\.\/([^"]+-[^"]+)"/g)].map(([, name]) => name);
  assert.equal(parts.length, 2);
  for (const part of parts) {
    const reply = await fetch(`${server.url}/ui/${part}`, { headers: { 'accept-encoding': 'br' } });
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get('cache-control') ?? '', /immutable/);
    assert.equal(reply.headers.get('content-encoding'), 'br');
  }
});

test('the address without a slash redirects to the one with it', async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  const reply = await fetch(`${server.url}/ui`, { redirect: 'manual' });
  assert.equal(reply.status, 308);
  assert.equal(reply.headers.get('location'), '/ui/');
});

test('only the parts of the console have an address', async (t) => {
  const server = await startServer();
  t.after(async () => server.close());
  for (const name of ['../package.json', '%2e%2e%2fpackage.json', 'index.html.br', 'nothing.js']) {
    const reply = await fetch(`${server.url}/ui/${name}`);
    assert.equal(reply.status, 404, name);
  }
});
