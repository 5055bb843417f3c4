import { fstatSync, writeSync } from 'node:fs';
import type { LogStream } from './log-line.ts';

/**
 * Where the log goes: stderr. A file on a full disk loses lines and gets them again when there is space. Node's own
 * stream would end for good at the first line that fails, and the process with it.
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

const GATHER_MILLISECONDS = 20;
/** So much is written at once, also earlier. */
const CHARACTERS_MAX = 64 * 1024;

export interface BatchedLines extends LogStream {
  close(): void;
}

/**
 * Writes the lines of a moment together. A write to a pipe is a call of the operating system that wakes the reader; under
 * load, one for each request cost more than anything else that is done to refuse it.
 */
export function batchLines(stream: LogStream): BatchedLines {
  let text = '';
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (text === '') return;
    const gathered = text;
    text = '';
    stream.write(gathered);
  };
  // What was said last is often why it was the last.
  process.once('exit', flush);
  return {
    ...(stream.isTTY === undefined ? {} : { isTTY: stream.isTTY }),
    write(line) {
      text += line;
      if (isClosed || text.length >= CHARACTERS_MAX) flush();
      else timer ??= setTimeout(flush, GATHER_MILLISECONDS).unref();
      return true;
    },
    /** From then on each line is written by itself. */
    close() {
      isClosed = true;
      flush();
      process.off('exit', flush);
    },
  };
}
