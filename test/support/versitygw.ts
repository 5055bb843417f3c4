import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';

/** Given in `TILTYARD_TEST_VERSITYGW`, or on the path: `go install github.com/versity/versitygw/cmd/versitygw@latest`. */
function findVersityGw(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'versitygw'));
  return [process.env['TILTYARD_TEST_VERSITYGW'] ?? '', ...folders].find((file) => file !== '' && existsSync(file));
}

/** For the option `skip` of a test. */
export const withoutVersityGw = findVersityGw() === undefined ? 'versitygw is not installed' : false;

const ACCESS = 'versity-access-key';
const SECRET = 'versity-secret-key';

/** A real server of S3 over a temporary folder, with a bucket; ended after the test. */
export async function startVersityGw(test: { after(work: () => unknown): void }, bucket: string) {
  const program = findVersityGw();
  if (program === undefined) throw new Error('versitygw is not installed.');
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-versity-'));
  await mkdir(join(folder, 'data', bucket), { recursive: true });
  await mkdir(join(folder, 'sidecar'));
  const port = await findFreePort();
  const options = ['--access', ACCESS, '--secret', SECRET, '--port', `127.0.0.1:${port}`, '--region', 'eu-test-1'];
  const backend = ['posix', '--sidecar', join(folder, 'sidecar'), join(folder, 'data')];
  const server = spawn(program, [...options, ...backend], { stdio: 'ignore' });
  test.after(async () => {
    server.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  );
  return {
    storageOptions: {
      aws_endpoint: url,
      aws_region: 'eu-test-1',
      allow_http: 'true',
      aws_access_key_id: ACCESS,
      aws_secret_access_key: SECRET,
    },
  };
}
