import { loadStream } from './load-stream.ts';
import { NativeEngine } from './native-engine.ts';
import { ServiceError } from '../../../src/errors/service-error.ts';
import { whole } from '../../support/arrow-fixtures.ts';

/** A process that loads streams for another, so that what kills the engine does not kill the test. */
export interface Outcome {
  readonly kind: 'refused' | 'loaded' | 'engine-error' | 'fault';
  readonly text: string;
  readonly rows: number;
  readonly stored: number;
}

async function load(engine: NativeEngine, bytes: Uint8Array): Promise<Outcome> {
  try {
    const { table, rows } = await loadStream(engine, whole(bytes));
    return { kind: 'loaded', text: '', rows, stored: await table.countRows() };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const kind = error instanceof ServiceError ? 'refused' : code === 'GenericFailure' ? 'engine-error' : 'fault';
    return { kind, text, rows: 0, stored: 0 };
  }
}

const engine = await NativeEngine.open();
process.on('message', (bytes: Uint8Array) => {
  void load(engine, bytes).then((outcome) => process.send?.(outcome));
});
process.on('disconnect', () => {
  void engine.close();
});
process.send?.('ready');
