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
