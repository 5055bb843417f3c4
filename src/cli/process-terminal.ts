import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { Terminal } from './command.ts';
import { cutText } from './show/text.ts';

const COLUMNS_WHEN_UNKNOWN = 80;

/** The terminal of this process: its width, and whether a person can be asked. */
export function processTerminal({ env, stdin, stdout, stderr }: NodeJS.Process): Terminal {
  // A reader that has seen enough, such as `head`, closes the pipe: that is not an error.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit();
  });
  const isAttended = stdin.isTTY && stderr.isTTY;
  return {
    env,
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    async write(bytes) {
      if (!stdout.write(bytes)) await once(stdout, 'drain');
    },
    columns: stdout.isTTY ? stdout.columns || COLUMNS_WHEN_UNKNOWN : undefined,
    status: stderr.isTTY ? (line) => drawStatus(stderr, line) : undefined,
    ask: isAttended ? async (question) => ask(question, stdin, stderr) : undefined,
    onInterrupt: listenForSignals,
  };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function listenForSignals(act: () => void): () => void {
  const end = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  const onSignal = (): void => {
    end();
    act();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return end;
}

function drawStatus(stream: NodeJS.WriteStream, line: string): void {
  const columns = stream.columns || COLUMNS_WHEN_UNKNOWN;
  stream.write(`\r\u001b[2K${cutText(line, columns - 1)}`);
}

/** The end of the input counts as an empty answer. */
async function ask(question: string, input: NodeJS.ReadStream, output: NodeJS.WriteStream): Promise<string> {
  const lines = createInterface({ input, output });
  try {
    const ended = once(lines, 'close').then(() => '');
    return await Promise.race([lines.question(question), ended]);
  } finally {
    lines.close();
  }
}
