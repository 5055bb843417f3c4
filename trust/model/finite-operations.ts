import { OPERATIONS } from '../../src/operations/registry.ts';

/** A campaign waits for whole replies. */
export const FINITE_OPERATIONS = OPERATIONS.filter(({ isEndless }) => isEndless === undefined);
