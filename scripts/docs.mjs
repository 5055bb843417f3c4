// Writes the generated lists of the docs between their markers; with --check only reports whether they are up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import { COMMAND_GROUPS } from '../build/src/cli/commands.js';
import { settingsReference } from '../build/src/config/config.js';
import { ERROR_KINDS, STATUS_TEXTS } from '../build/src/errors/service-error.js';
import { OPERATIONS } from '../build/src/operations/registry.js';
import { metricsReference } from '../build/src/telemetry/metrics/metric-rows.js';
import { UNSUPPORTED } from '../build/src/operations/unsupported.js';

const row = (cells) => `| ${cells.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`;
const table = (head, rows) => [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const code = (text) => (text === '' ? '' : `\`${text}\``);

const publicOperations = JSON.parse(readFileSync('docs/public-operations.json', 'utf8'));
const ownPath = (path) => path.replaceAll(/\{(\w+)\}/g, ':$1');

function stateOf({ method, path, difference }) {
  const own = OPERATIONS.find((each) => each.path === ownPath(path) && each.methods.includes(method));
  if (own === undefined) return ['', 'missing'];
  const unsupported = UNSUPPORTED.find(({ id }) => id === own.id);
  if (unsupported !== undefined) return [code(own.id), `not offered (406): ${unsupported.reason}`];
  return [code(own.id), difference === undefined ? 'as specified' : `as specified, except: ${difference}`];
}

/** Shown once, because it is the same for every command that calls a server. */
const connectionOptions = /\n\n(Connection options:\n(?: {2}.*\n)+)/;
const [, connectionHelp] = COMMAND_GROUPS.flatMap(({ commands }) => commands)
  .map(({ help }) => connectionOptions.exec(help))
  .find((found) => found !== null);

const commandText = ({ words, usage, help }) =>
  `### ${words.join(' ')}\n\n\`\`\`text\ntiltyard ${words.join(' ')} ${usage}\n\n${help.replace(connectionOptions, '\n')}\n\`\`\``;

const lists = {
  'docs/commands.md': {
    commands: [
      `Every command that calls a server also has these options:\n\n\`\`\`text\n${connectionHelp}\`\`\``,
      ...COMMAND_GROUPS.map(({ title, commands }) => `## ${title}\n\n${commands.map(commandText).join('\n\n')}`),
    ].join('\n\n'),
  },
  'docs/errors.md': {
    errors: table(
      ['Name', 'Status', '`code`', '`type`', '`title`', 'Try again'],
      Object.entries(ERROR_KINDS).map(([name, kind]) => {
        const { type, title } = STATUS_TEXTS[kind.status];
        return [name, kind.status, kind.code, code(type), title, kind.retryable ? 'yes' : 'no'];
      }),
    ),
  },
  'docs/settings.md': {
    settings: table(
      ['Setting', 'Variable', 'Flag', 'Type', 'Default', 'Range', 'What it does'],
      settingsReference().map((s) => [code(s.name), code(s.env), code(s.flag), s.type, s.default, s.range, s.help]),
    ),
  },
  'docs/conformance.md': {
    conformance: table(
      ['Described operation', 'Method and path', 'Operation here', 'State'],
      publicOperations.map((each) => [code(each.operation), code(`${each.method} ${each.path}`), ...stateOf(each)]),
    ),
  },
  'docs/metrics.md': {
    metrics: table(
      ['Metric', 'Type', 'Labels', 'What it is'],
      metricsReference().map(({ name, type, labels, help }) => [code(name), type, labels.map(code).join(', '), help]),
    ),
  },
  'docs/operations.md': {
    operations: table(
      ['Operation', 'Method and path', 'Body', 'Permission', 'What it does'],
      OPERATIONS.map((operation) => [
        code(operation.id),
        code(`${operation.methods[0]} ${operation.path.replaceAll(/:(\w+)/g, '{$1}')}`),
        { json: 'JSON', arrow: 'Arrow stream', none: '' }[operation.body.kind],
        operation.permission,
        operation.summary,
      ]),
    ),
  },
};

let stale = 0;
for (const [file, parts] of Object.entries(lists)) {
  const before = readFileSync(file, 'utf8');
  let after = before;
  for (const [name, text] of Object.entries(parts)) {
    const [start, end] = [`<!-- list:${name} -->`, `<!-- /list:${name} -->`];
    if (!after.includes(start) || !after.includes(end)) throw new Error(`${file} lacks the markers of ${name}`);
    after = `${after.slice(0, after.indexOf(start) + start.length)}\n\n${text}\n\n${after.slice(after.indexOf(end))}`;
  }
  if (after === before) continue;
  if (process.argv.includes('--check')) {
    console.log(`${file} differs from the code; run: node scripts/docs.mjs`);
    stale += 1;
  } else writeFileSync(file, after);
}
process.exit(stale === 0 ? 0 : 1);
