// Installs Debian's chromium, which the browser tests drive, where it is missing and can be installed.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The first is smaller and takes less time; older releases of Debian do not have it. */
const PACKAGES = ['chromium-headless-shell', 'chromium'];

const isInstalled = () => PACKAGES.some((name) => existsSync(`/usr/bin/${name}`));
const isDebian = existsSync('/usr/bin/apt-get');
if (!isInstalled() && isDebian && process.getuid?.() === 0) {
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (args) => spawnSync('apt-get', args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  run(['update', '-qq']);
  for (const name of PACKAGES) {
    if (!isInstalled()) run(['install', '-y', '-qq', '--no-install-recommends', name]);
  }
}
if (!isInstalled()) console.error(`Neither ${PACKAGES.join(' nor ')} is installed: the browser tests are skipped.`);
