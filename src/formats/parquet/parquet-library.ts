import type * as parquet from 'parquet-wasm';

/** The Parquet library is Arrow's reader and writer as WebAssembly of 5 MB: loaded with the first file that needs it. */
export async function loadParquet(): Promise<typeof parquet> {
  const library = await import('parquet-wasm');
  // The build for browsers fetches its WebAssembly only when asked to; the one for Node has read it by now.
  const start: unknown = Reflect.get(library, 'default');
  if (typeof start === 'function') await start();
  return library;
}
