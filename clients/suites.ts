import type { ClientSuite } from './client.ts';
import { JAVA_LANCE, JAVA_REST } from './java/java.ts';
import { JAVASCRIPT } from './javascript/javascript.ts';
import { DAFT, DUCKDB, RAY } from './python/dataframes.ts';
import { GENERATED_PYTHON, PYLANCE } from './python/namespace.ts';
import { PYTHON } from './python/python.ts';
import { RUST } from './rust/rust.ts';
import { SPARK } from './spark/spark.ts';
import { WALKTHROUGH } from './walkthrough/walkthrough.ts';

/** In the order of the docs. */
export const SUITES: readonly ClientSuite[] = [
  JAVASCRIPT,
  PYTHON,
  PYLANCE,
  GENERATED_PYTHON,
  DAFT,
  RAY,
  DUCKDB,
  JAVA_REST,
  JAVA_LANCE,
  RUST,
  SPARK,
  WALKTHROUGH,
];
