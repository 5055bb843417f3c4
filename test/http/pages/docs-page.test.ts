import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { ERROR_KINDS } from '../../../src/errors/service-error.ts';
import { renderDocsPage } from '../../../src/http/pages/docs-page.ts';
import { defineDatabaseOperation } from '../../../src/operations/operation.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';

const page = renderDocsPage(OPERATIONS, { release: '1.2.3', basePath: '/lance' });

test('lists every operation, with its address below the base path, and links to it', () => {
  for (const {
    id,
    methods: [method],
    path,
  } of OPERATIONS) {
    const shown = path.replaceAll(/:(\w+)/g, '{$1}');
    assert.ok(page.includes(`<section id="${id}"><h2><code>${method}</code> <code>/lance${shown}</code>`), id);
    assert.ok(page.includes(`<a href="#${id}">`), id);
  }
});

test('lists every field of every body and query', () => {
  for (const { id, query, body } of OPERATIONS) {
    const section = page.slice(page.indexOf(`<section id="${id}">`)).split('</section>', 1)[0] ?? '';
    const shapes = body.kind === 'json' ? [query, body.shape] : [query];
    for (const name of shapes.flatMap((shape) => Object.keys(shape.properties))) {
      assert.ok(section.includes(`<code>${name}</code>`), `${id} ${name}`);
    }
  }
});

test('lists every error with its status and code', () => {
  for (const [name, { status, code }] of Object.entries(ERROR_KINDS)) {
    assert.ok(page.includes(`<td><code>${name}</code></td><td>${status}</td><td>${code}</td>`), name);
  }
});

test('runs nothing and loads nothing', () => {
  assert.doesNotMatch(page, /<script|<iframe|<img|<link|<form|javascript:| on\w+=|@import|url\(/i);
  const links = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address = '']) => address);
  assert.ok(links.every((address) => address.startsWith('#') || address === '/lance/openapi.json'));
});

test('shows every name as text', () => {
  const evil = `<script>alert("1")</script>&'`;
  const shape = Type.Object({
    [evil]: Type.String({ description: evil }),
    list: Type.Array(Type.Object({ [evil]: Type.Null() })),
  });
  const operation = defineDatabaseOperation({
    id: evil,
    methods: ['GET'],
    path: `/${evil}`,
    summary: evil,
    permission: 'see',
    body: { kind: 'none' },
    query: shape,
    replies: [{ mediaType: evil, shape, description: evil }],
    statuses: [],
    run: async () => assert.fail('not run'),
  });
  const hostile = renderDocsPage([operation], { release: evil, basePath: evil });
  assert.ok(hostile.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;'));
  assert.doesNotMatch(hostile, /<script|alert\("/);
});
