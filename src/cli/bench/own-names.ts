import { randomBytes } from 'node:crypto';

/** What a bench makes is named so: it can be told from everything else, should a bench be killed. */
const PREFIX = 'tiltyard-bench-';

export function makeOwnName(): string {
  return `${PREFIX}${randomBytes(8).toString('hex')}`;
}
