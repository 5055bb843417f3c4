import { createRequire } from 'node:module';
import { join } from 'node:path';
import { tryEveryMethod } from './every-method.ts';
import { Side } from './side.ts';
import type { LanceDb } from './side.ts';

/** Tries every method of the LanceDB client: the argument is the folder that it is installed in. */
const [folder = ''] = process.argv.slice(2);
const { TILTYARD_URL: url = '', TILTYARD_API_KEY: key = '', TILTYARD_SCRATCH: scratch = '' } = process.env;
const { TILTYARD_DATABASE: database = '' } = process.env;
const lancedb = createRequire(join(folder, 'package.json'))('@lancedb/lancedb') as LanceDb;

const remote = await Side.overService(lancedb, { url, key, database });
const local = await Side.overFolder(lancedb, scratch);
for await (const outcome of tryEveryMethod({ remote, local })) {
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
// The client keeps connections and threads that would keep the process.
process.exit(0);
