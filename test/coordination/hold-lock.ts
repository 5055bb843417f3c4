import { tryLockFile } from '../../src/coordination/file-lock.ts';

/** Holds a lock until it is killed. */
const [file = ''] = process.argv.slice(2);
process.stdout.write(tryLockFile(file) === undefined ? 'busy' : 'locked');
setInterval(() => {}, 60_000);
