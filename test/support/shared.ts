import { after } from 'node:test';

type Close = () => Promise<void>;

const closers: Close[] = [];
let isOfProcess = false;

/** For what takes long to start: closed after the test file, or after all files of a process that run in one. */
export function closeAtEnd(close: Close): void {
  closers.push(close);
}

/** What is shared stays open until the returned function is called. Called before the first file is loaded. */
export function shareBetweenFiles(): Close {
  isOfProcess = true;
  return closeAll;
}

async function closeAll(): Promise<void> {
  for (const close of closers) await close();
}

after(async () => {
  if (!isOfProcess) await closeAll();
});
