import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { TRIAL_TABLE } from './trial-process.ts';
import type { TrialReply, TrialRequest } from './trial-process.ts';

export interface TrialSettings {
  /** The program of the disposable process. */
  readonly file: URL;
  /** Contains the manifests while they are tried. */
  readonly folder: string;
  readonly seconds: number;
}

/** A manifest to try, under its future name. */
interface TrialManifest {
  readonly name: string;
  readonly version: number;
  readonly content: Buffer;
}

type Ending = TrialReply | 'died' | 'late';

/** A process that is idle for longer than this is ended. */
const IDLE_MILLISECONDS = 30_000;

/**
 * Opens manifests of external writers in a separate process before they are committed: a manifest that the engine
 * cannot read, or that crashes the process, is refused. The process is reused only as long as no trial fails.
 */
export class ManifestTrials {
  readonly #settings: TrialSettings;
  /** One at a time; the writes that the service admits bound those that wait. */
  readonly #limit = pLimit(1);
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #isUsed = false;

  constructor(settings: TrialSettings) {
    this.#settings = settings;
  }

  async require(manifest: TrialManifest): Promise<void> {
    const ending = await this.#limit(async () => this.#try(manifest));
    if (ending === 'late') {
      const message = `The manifest could not be checked within ${this.#settings.seconds} s; nothing was committed.`;
      throw new ServiceError('ServiceUnavailable', message, { retryAfterSeconds: 1 });
    }
    if (ending !== 'died' && ending.version === manifest.version) return;
    const cause = new Error(ending === 'died' ? 'The process of the trial ended.' : ending.failure);
    throw invalidInput('The engine cannot open the table with this manifest.', 'Write it with a Lance library.', cause);
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #try({ name, content }: TrialManifest): Promise<Ending> {
    const { folder } = this.#settings;
    // Removes what a killed process left.
    if (!this.#isUsed) await rm(folder, { recursive: true, force: true });
    this.#isUsed = true;
    await mkdir(folder, { recursive: true });
    const trial = await mkdtemp(join(folder, 'trial-'));
    try {
      const versions = join(trial, `${TRIAL_TABLE}.lance`, '_versions');
      await mkdir(versions, { recursive: true });
      await writeFile(join(versions, name), content);
      const ending = await this.#ask({ folder: trial });
      if (typeof ending === 'string' || ending.version === undefined) this.close();
      return ending;
    } finally {
      await rm(trial, { recursive: true, force: true });
    }
  }

  async #ask(request: TrialRequest): Promise<Ending> {
    clearTimeout(this.#idle);
    const child = (this.#child ??= startProcess(this.#settings.file));
    try {
      return await askProcess(child, request, this.#settings.seconds);
    } finally {
      this.#idle = setTimeout(() => this.close(), IDLE_MILLISECONDS).unref();
    }
  }
}

async function askProcess(child: ChildProcess, request: TrialRequest, seconds: number): Promise<Ending> {
  let timer: NodeJS.Timeout | undefined;
  const ending = await new Promise<Ending>((resolve) => {
    timer = setTimeout(() => resolve('late'), seconds * 1000);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only runTrials writes to this channel.
    child.once('message', (message) => resolve(message as TrialReply));
    child.once('exit', () => resolve('died'));
    child.send(request, (error) => {
      if (error !== null) resolve('died');
    });
  });
  clearTimeout(timer);
  child.removeAllListeners('message').removeAllListeners('exit');
  return ending;
}

/** Without the environment of the service, which may contain credentials of its storage. */
function startProcess(file: URL): ChildProcess {
  const { PATH, LD_LIBRARY_PATH } = process.env;
  const child = fork(file, [], {
    env: { PATH, LD_LIBRARY_PATH },
    // Native packages read a report to detect the C library; its network part would query name servers.
    execArgv: ['--report-exclude-network', '--max-old-space-size=128'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // A process that cannot be started or reached sends no reply.
  child.on('error', () => {});
  child.unref();
  child.channel?.unref();
  return child;
}
