// Runs every check except the tests: types, lint, format, generated lists in the docs, and the import rules.
import { spawnSync } from 'node:child_process';

const bin = (name) => `node_modules/.bin/${name}`;
const checks = [
  ['types', bin('tsc'), []],
  ['types of the console', bin('tsc'), ['--project', 'console']],
  ['lint', bin('oxlint'), ['src', 'test', 'bench', 'trust', 'clients', 'scripts', 'console']],
  ['format', bin('oxfmt'), ['--check', 'src', 'test', 'bench', 'trust', 'clients', 'scripts', 'console']],
  ['bundle', process.execPath, ['scripts/bundle.mjs']],
  ['build of the console', process.execPath, ['scripts/console.mjs']],
  ['docs lists', process.execPath, ['scripts/docs.mjs', '--check']],
  ['modules', process.execPath, ['build/test/architecture.test.js']],
];

let failed = 0;
for (const [name, command, args] of checks) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  console.log(`${status === 0 ? 'ok  ' : 'FAIL'} ${String(name)}`);
  if (status === 0) continue;
  failed += 1;
  console.log(`${stdout}${stderr}`);
}
process.exit(failed === 0 ? 0 : 1);
