import { OPERATIONS } from '../../src/operations/registry.ts';

/** Excludes endless operations, because campaigns wait for complete replies. */
export const FINITE_OPERATIONS = OPERATIONS.filter(({ isEndless }) => isEndless === undefined);
