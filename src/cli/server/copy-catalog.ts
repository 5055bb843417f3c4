import { readFileSync } from 'node:fs';
import { readCatalogUrl } from '../../config/settings/text-rules.ts';
import { formatCount } from '../../plans/format-figure.ts';
import { EXIT, UsageError, toJsonText } from '../command.ts';
import type { Command } from '../command.ts';
import { readArguments } from '../options.ts';

export const copyCatalogCommand: Command = {
  words: ['catalog', 'copy'],
  usage: 'FROM TO [--json]',
  summary: 'copy the catalog between SQLite and PostgreSQL',
  help: `Copies names, locations, keys, grants and history of all databases from one catalog to another. FROM and TO are
SQLite files or PostgreSQL addresses (postgres://USER:PASSWORD@HOST:PORT/DATABASE). Give an address as @FILE: other users
of the machine can see a password on the command line.

Stop all servers first: a catalog in use is refused. TO must be new or empty. All rows are copied in one transaction, so
a failed copy leaves nothing behind. FROM stays as it is, apart from schema migrations. Table data is not moved.

Then start the server with catalog.url (TILTYARD_CATALOG_URL) set to TO, or with catalogFile for a file. To go back, copy
in the other direction into a new file or database: as soon as a server has used TO, FROM is out of date and must not be
served again.

Options:
  --json  print JSON

Examples:
  tiltyard catalog copy data/tiltyard.db @catalog-url.txt
  tiltyard catalog copy @catalog-url.txt data/back.db`,
  async run(argv, terminal) {
    const given = readArguments(argv, [{ name: 'json', help: 'print JSON' }]);
    const [from, to, ...others] = given.names.map(readAddress);
    if (from === undefined || to === undefined || others.length > 0) {
      throw new UsageError('Give two catalogs: tiltyard catalog copy FROM TO.');
    }
    const { copyCatalog, nameCatalog } = await import('../../app/copy-catalog.ts');
    const rows = await copyCatalog({
      from,
      to,
      onProgress({ table, rows: count, isDone }) {
        const line = `${toSqlName(table)}  ${formatCount(count)} rows`;
        if (!isDone) return terminal.status?.(line);
        terminal.status?.('');
        return terminal.err(`${line}\n`);
      },
    });
    const total = [...rows.values()].reduce((sum, count) => sum + count, 0);
    const tables = Object.fromEntries(Array.from(rows, ([table, count]) => [toSqlName(table), count]));
    const text = `Copied ${formatCount(total)} rows from ${nameCatalog(from)} to ${nameCatalog(to)}.\n`;
    terminal.out(given.has('json') ? toJsonText({ rows: total, tables }) : text);
    return EXIT.done;
  },
};

function readAddress(text: string): string {
  const address = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8').trim() : text;
  const isFile = address !== '' && !address.includes('://');
  if (isFile || 'value' in readCatalogUrl(address)) return address;
  throw new UsageError('A catalog must be a file, or an address such as postgres://USER:PASSWORD@HOST:PORT/DATABASE.');
}

function toSqlName(table: string): string {
  return table.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
