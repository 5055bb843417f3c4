import { fstatSync, writeSync } from 'node:fs';
import type { LogStream } from './log-line.ts';

/**
 * The log goes to stderr. On a full disk, a log file loses lines until there is space again; Node's own stream would
 * fail permanently at the first failed write, and end the process.
 */
export function openLogOutput(stderr: LogStream & { readonly fd: number }): LogStream {
  if (!isFile(stderr.fd)) return stderr;
  return {
    write(text) {
      try {
        return writeSync(stderr.fd, text);
      } catch {
        return 0;
      }
    },
  };
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}

const BATCH_MILLISECONDS = 20;
/** The size that a pipe writes atomically: longer writes could be interleaved with those of another process. */
const BATCH_BYTES_MAX = 4096;

/** Batches lines: under overload, one system call per line costs more than the rest of a refusal. */
export function batchLines(stream: LogStream) {
  let text = '';
  let bytes = 0;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (text === '') return;
    const batch = text;
    text = '';
    bytes = 0;
    stream.write(batch);
  };
  // The last lines often say why the process ended.
  process.once('exit', flush);
  return {
    ...(stream.isTTY === undefined ? {} : { isTTY: stream.isTTY }),
    write(line: string): true {
      const lineBytes = Buffer.byteLength(line);
      if (bytes + lineBytes > BATCH_BYTES_MAX) flush();
      text += line;
      bytes += lineBytes;
      if (isClosed || bytes >= BATCH_BYTES_MAX) flush();
      else timer ??= setTimeout(flush, BATCH_MILLISECONDS).unref();
      return true;
    },
    /** Afterwards each line is written at once. */
    close(): void {
      isClosed = true;
      flush();
      process.off('exit', flush);
    },
  };
}
