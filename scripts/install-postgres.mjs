// Installs Debian's PostgreSQL, which tests of the catalog start, if it is missing and can be installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findPostgres } from '../build/test/support/postgres.js';

if (findPostgres() === undefined && existsSync('/usr/bin/apt-get') && process.getuid?.() === 0) {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (args) => spawnSync('apt-get', args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  run(['update', '-qq']);
  run(['install', '-y', '-qq', '--no-install-recommends', 'postgresql']);
}
if (findPostgres() === undefined) console.error('There is no PostgreSQL: tests that need one are skipped.');
