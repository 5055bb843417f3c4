import type { LogStream } from './log-line.ts';

const GATHER_MILLISECONDS = 20;
/** So much is written at once, also earlier. */
const CHARACTERS_MAX = 64 * 1024;

export interface GatheredLines extends LogStream {
  close(): void;
}

/**
 * Writes the lines of a moment together. A write to a pipe is a call of the operating system that wakes the reader; under
 * load, one for each request cost more than anything else that is done to refuse it.
 */
export function gatherLines(stream: LogStream): GatheredLines {
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
