// Installs Debian's chromium, which the browser tests drive, where it is missing and can be installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

const BROWSER = '/usr/bin/chromium';

const isDebian = existsSync('/usr/bin/apt-get');
if (!existsSync(BROWSER) && isDebian && process.getuid?.() === 0) {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (args) => spawnSync('apt-get', args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  run(['update', '-qq']);
  run(['install', '-y', '-qq', '--no-install-recommends', 'chromium']);
}
if (!existsSync(BROWSER)) console.error(`There is no ${BROWSER}: the browser tests are skipped.`);
