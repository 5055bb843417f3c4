import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { EngineAnswer, EngineQuestion, EngineReply } from './engine-worker.ts';

const WORKER = new URL('./engine-worker.js', import.meta.url);

/** Asks a real engine in a child process. A question that it does not survive, or not in time, is an error. */
export class EngineProcess {
  readonly #child: ChildProcess;
  #questions = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(): Promise<EngineProcess> {
    const child = fork(WORKER, [], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...process.env, RUST_MIN_STACK: '67108864', RUST_BACKTRACE: '0', LANCEDB_LOG: 'off' },
    });
    const [first]: readonly unknown[] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (first !== 'ready') throw new Error(`the engine did not start: ${String(first)}`);
    return new EngineProcess(child);
  }

  async rows(texts: readonly string[], milliseconds = 20_000): Promise<readonly EngineAnswer[]> {
    return this.#ask('rows', texts, milliseconds);
  }

  async values(texts: readonly string[], milliseconds = 20_000): Promise<readonly EngineAnswer[]> {
    return this.#ask('values', texts, milliseconds);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.disconnect();
    await gone;
  }

  async #ask(kind: EngineQuestion['kind'], texts: readonly string[], milliseconds: number) {
    this.#questions += 1;
    const question: EngineQuestion = { id: this.#questions, kind, texts };
    const child = this.#child;
    return new Promise<readonly EngineAnswer[]>((resolve, reject) => {
      const done = (finish: () => void) => {
        clearTimeout(timer);
        child.off('message', onMessage);
        child.off('exit', onExit);
        finish();
      };
      const shown = JSON.stringify(texts).slice(0, 500);
      const onMessage = (reply: EngineReply) => {
        if (reply.id === question.id) done(() => resolve(reply.answers));
      };
      const onExit = (code: number | null, signal: string | null) =>
        done(() => reject(new Error(`the engine died (${code ?? signal}) of ${shown}`)));
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        done(() => reject(new Error(`the engine hung on ${shown}`)));
      }, milliseconds);
      child.on('message', onMessage);
      child.on('exit', onExit);
      child.send(question);
    });
  }
}
