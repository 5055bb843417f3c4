import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { findFreePort } from './free-port.ts';

/** Given in `TILTYARD_TEST_MINIO`, or on the path: `go install github.com/minio/minio@latest`. */
function findMinio(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':').map((folder) => join(folder, 'minio'));
  return [process.env['TILTYARD_TEST_MINIO'] ?? '', ...folders].find((file) => file !== '' && existsSync(file));
}

/** For the option `skip` of a test. */
export const withoutMinio = findMinio() === undefined ? 'minio is not installed' : false;

const ACCESS = 'minio-access-key';
const SECRET = 'minio-secret-key';

/** A real server of S3 and STS over a temporary folder, with a bucket; ended after the test. */
export async function startMinio(test: { after(work: () => unknown): void }, bucket: string) {
  const program = findMinio();
  if (program === undefined) throw new Error('minio is not installed.');
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-minio-'));
  await mkdir(join(folder, bucket));
  const address = `127.0.0.1:${await findFreePort()}`;
  const env = { ...process.env, MINIO_ROOT_USER: ACCESS, MINIO_ROOT_PASSWORD: SECRET, MINIO_BROWSER: 'off' };
  const server = spawn(program, ['server', '--quiet', '--address', address, folder], { stdio: 'ignore', env });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  test.after(async () => {
    server.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://${address}`;
  await eventually(async () =>
    fetch(`${url}/minio/health/live`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    storageOptions: {
      aws_endpoint: url,
      aws_region: 'us-east-1',
      allow_http: 'true',
      aws_access_key_id: ACCESS,
      aws_secret_access_key: SECRET,
    },
  };
}
