import { execFile } from 'node:child_process';
import type { ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** With the certificates of the machine, which `scripts/test.mjs` keeps from all other processes. */
export async function runNpm(
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { NPM_CA_CERTS: certificates, ...env } = process.env;
  const ownEnv = certificates === undefined ? env : { ...env, NODE_EXTRA_CA_CERTS: certificates };
  return run('npm', [...args], { ...options, env: ownEnv, encoding: 'utf8' });
}
