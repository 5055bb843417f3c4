import type { ClientSuite } from './client.ts';
import { JAVASCRIPT } from './javascript/javascript.ts';
import { PYTHON } from './python/python.ts';

/** In the order of the docs. */
export const SUITES: readonly ClientSuite[] = [JAVASCRIPT, PYTHON];
