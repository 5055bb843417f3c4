import type { ClientSuite } from './client.ts';
import { JAVASCRIPT } from './javascript/javascript.ts';
import { GENERATED_PYTHON, PYLANCE } from './python/namespace.ts';
import { PYTHON } from './python/python.ts';

/** In the order of the docs. */
export const SUITES: readonly ClientSuite[] = [JAVASCRIPT, PYTHON, PYLANCE, GENERATED_PYTHON];
