// Installs Azurite, an emulator of Azure Blob Storage that tests start for themselves, in a separate folder.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { AZURITE_FOLDER, findAzurite } from '../build/test/support/azurite.js';

const RELEASE = 'azurite@3.35.0';

if (findAzurite() === undefined) {
  mkdirSync(AZURITE_FOLDER, { recursive: true });
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', AZURITE_FOLDER];
  spawnSync('npm', ['install', ...options, RELEASE], { stdio: 'ignore', timeout: 300_000 });
}
if (findAzurite() === undefined) console.error('Azurite cannot be installed: tests that need it are skipped.');
