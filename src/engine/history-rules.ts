import { quoteForMessage } from '../model/identifier.ts';
import type { ErrorRule } from './error-rule.ts';

/** Of versions, tags and branches. */
export const HISTORY_RULES: readonly ErrorRule[] = [
  {
    name: 'version-missing',
    blames: 'caller',
    pattern: /_versions\/(\d+)\.manifest was not found/,
    kind: 'TableVersionNotFound',
    sentence: (version) => `The table has no version ${version}.`,
  },
  {
    name: 'branch-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Not found: .*\/tree\/(.+)\/_versions,/,
    kind: 'TableBranchNotFound',
    sentence: (branch) => `The branch ${quoteForMessage(branch ?? '')} was not found.`,
  },
  {
    name: 'branch-invalid',
    blames: 'caller',
    pattern: /Ref is invalid: |^Invalid input, branch name must be/,
    kind: 'InvalidInput',
    sentence: () => 'The branch name is not valid.',
    hint: 'A branch name has letters, digits, ".", "-", "_" and "/" between its parts.',
  },
  {
    name: 'tagged-cleanup',
    blames: 'service',
    pattern: /^(?:lance error: )?Cleanup error: \d+ tagged version/,
    kind: 'ConcurrentModification',
    sentence: () => 'A tag was put on a version that was about to be removed.',
    retryAfterSeconds: 1,
  },
  {
    name: 'tag-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref not found error: tag (\S+) does not exist/,
    kind: 'TableTagNotFound',
    sentence: (tag) => `The tag ${quoteForMessage(tag ?? '')} was not found.`,
  },
  {
    name: 'tag-exists',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref conflict error: tag (\S+) already exists/,
    kind: 'TableTagAlreadyExists',
    sentence: (tag) => `The tag ${quoteForMessage(tag ?? '')} already exists.`,
  },
  {
    name: 'tagged-version-missing',
    blames: 'caller',
    pattern: /^(?:lance error: )?Version not found error: version \S+:(\d+) does not exist/,
    kind: 'TableVersionNotFound',
    sentence: (version) => `The table has no version ${version} on this branch.`,
  },
  {
    // Only when another process made the branch since the service looked.
    name: 'branch-exists',
    blames: 'service',
    pattern: /^(?:lance error: )?Encountered internal error\. .*Clone operation should not enter build_manifest/,
    kind: 'TableBranchAlreadyExists',
    sentence: () => 'The branch already exists.',
  },
  {
    name: 'branch-needed',
    blames: 'caller',
    pattern: /^(?:lance error: )?Ref conflict error: Branch (\S+) is referenced by /,
    kind: 'InvalidTableState',
    sentence: (branch) => `Other branches start at the branch ${quoteForMessage(branch ?? '')}.`,
    hint: 'Delete those branches first.',
  },
];
