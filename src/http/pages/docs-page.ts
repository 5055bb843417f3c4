import type { FastifyInstance } from 'fastify';
import type { Type } from 'typebox';
import { ERROR_KINDS, STATUS_TEXTS } from '../../errors/service-error.ts';
import type { Operation } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/registry.ts';
import { toOpenApi } from './openapi.ts';
import type { OpenApiSettings } from './openapi.ts';

/** The page needs inline styles and nothing else. */
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Rendered at the first request: most servers are never asked. */
export function mountDocs(server: FastifyInstance, settings: OpenApiSettings): void {
  let description: string | undefined;
  let page: string | undefined;
  server.get(`${settings.basePath}/openapi.json`, async (_request, reply) => {
    description ??= JSON.stringify(toOpenApi(OPERATIONS, settings), undefined, 2);
    return reply.header('content-type', 'application/json; charset=utf-8').send(description);
  });
  server.get(`${settings.basePath}/docs`, async (_request, reply) => {
    page ??= renderDocsPage(OPERATIONS, settings);
    return reply.headers(PAGE_HEADERS).send(page);
  });
}

interface ShapeLike {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, ShapeLike>>;
  readonly required?: readonly string[];
  readonly items?: ShapeLike | ShapeLike[];
  readonly anyOf?: readonly ShapeLike[];
  readonly additionalProperties?: boolean | ShapeLike;
  readonly minimum?: number;
}

export function renderDocsPage(operations: readonly Operation[], settings: OpenApiSettings): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tiltyard ${escapeHtml(settings.release)} API</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>Tiltyard <small>${escapeHtml(settings.release)}</small></h1>
<p>A REST service for Lance tables. The same description for programs: <a href="${escapeHtml(settings.basePath)}/openapi.json">openapi.json</a>.</p>
<p>Every request carries a credential: <code>x-api-key: KEY</code> or <code>Authorization: Bearer TOKEN</code>.</p></header>
<nav aria-label="Operations"><ol>${operations.map(renderLink).join('')}</ol></nav>
<main>${operations.map((operation) => renderOperation(operation, settings)).join('')}
<section id="errors"><h2>Errors</h2>${renderErrors()}</section></main>
</body>
</html>
`;
}

function renderLink(operation: Operation): string {
  return `<li><a href="#${escapeHtml(operation.id)}"><code>${operation.methods[0]} ${showPath(operation)}</code></a></li>`;
}

function renderOperation(operation: Operation, settings: OpenApiSettings): string {
  const parts = [
    `<h2><code>${operation.methods[0]}</code> <code>${escapeHtml(settings.basePath)}${showPath(operation)}</code></h2>`,
    `<p>${escapeHtml(operation.summary)}. Permission: <code>${operation.permission}</code>.</p>`,
    renderFields('Query parameters', operation.query),
    renderBody(operation),
    ...operation.replies.map((reply) =>
      renderFields(`Reply 200, ${reply.mediaType}: ${reply.description}`, reply.shape),
    ),
  ];
  return `<section id="${escapeHtml(operation.id)}">${parts.join('\n')}</section>`;
}

function renderBody(operation: Operation): string {
  switch (operation.body.kind) {
    case 'json':
      return renderFields('Body, application/json', operation.body.shape);
    case 'arrow':
      return '<h3>Body, application/vnd.apache.arrow.stream</h3><p>An Arrow IPC stream; its schema is the table’s.</p>';
    case 'none':
      return '';
  }
}

function renderFields(title: string, schema: Type.TSchema): string {
  // A TypeBox schema is a JSON schema.
  const shape = schema as ShapeLike;
  const heading = `<h3>${escapeHtml(title)}</h3>`;
  const fields = Object.entries(shape.properties ?? {});
  if (fields.length === 0) return `${heading}<p>${escapeHtml(describeShape(shape))}</p>`;
  const rows = fields.map(([name, field]) => {
    const required = shape.required?.includes(name) === true ? 'required' : '';
    const text = escapeHtml(field.description ?? '');
    return `<tr><td><code>${escapeHtml(name)}</code></td><td>${escapeHtml(describeShape(field))}</td><td>${required}</td><td>${text}</td></tr>`;
  });
  return `${heading}<table><thead><tr><th>Name</th><th>Type</th><th></th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function describeShape(shape: ShapeLike): string {
  if (shape.anyOf !== undefined) return shape.anyOf.map(describeShape).join(' or ');
  if (shape.type === 'array') return describeArray(shape.items);
  if (shape.type === 'object') return describeObject(shape);
  const minimum = shape.minimum === undefined ? '' : ` ≥ ${shape.minimum}`;
  return `${shape.type ?? 'any'}${minimum}`;
}

function describeArray(items: ShapeLike['items']): string {
  if (items === undefined) return 'array';
  if (Array.isArray(items)) return `[${items.map(describeShape).join(', ')}]`;
  return `array of ${describeShape(items)}`;
}

function describeObject(shape: ShapeLike): string {
  const names = Object.keys(shape.properties ?? {});
  if (names.length > 0) return `{ ${names.join(', ')} }`;
  return typeof shape.additionalProperties === 'object'
    ? `map of ${describeShape(shape.additionalProperties)}`
    : 'object';
}

function renderErrors(): string {
  const rows = Object.entries(ERROR_KINDS).map(([name, { status, code, retryable }]) => {
    const { type } = STATUS_TEXTS[status];
    return `<tr><td><code>${name}</code></td><td>${status}</td><td>${code}</td><td><code>${type}</code></td><td>${retryable ? 'yes' : ''}</td></tr>`;
  });
  return `<table><thead><tr><th>Name</th><th>Status</th><th>code</th><th>type</th><th>Try again</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function showPath(operation: Operation): string {
  return escapeHtml(operation.path.replaceAll(/:(\w+)/g, '{$1}'));
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #8884; }
section { border-top: 2px solid #8886; margin-top: 2rem; }
h3 { margin-bottom: 0; font-size: 1rem; }
code { font: 0.9em ui-monospace, monospace; }
`;
