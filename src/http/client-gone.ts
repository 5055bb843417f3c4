import type { ServerResponse } from 'node:http';

/** A signal for those who ask for it: most requests are done before anybody wants to know. */
export function whenClientGone(response: ServerResponse): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => {
    controller ??= watch(response);
    return controller.signal;
  };
}

function watch(response: ServerResponse): AbortController {
  const controller = new AbortController();
  const abortIfUnsent = (): void => {
    if (!response.writableFinished) controller.abort();
  };
  if (response.closed || response.destroyed) abortIfUnsent();
  else response.once('close', abortIfUnsent);
  return controller;
}
