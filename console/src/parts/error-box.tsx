import type { JSX } from 'preact';
import { ClientError, ConnectionError } from '../../../src/client/client-error.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface ErrorBoxProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** Message, hint, and the request id for the server's log. */
export function ErrorBox({ error, onRetry }: ErrorBoxProps): JSX.Element | null {
  if (error === undefined) return null;
  const { title, message, hint, requestId } = wordsOf(error);
  return (
    <div class="error-box" role="alert">
      <Icon name="warning" />
      <div class="words">
        <strong>{title}</strong>
        <p>{message}</p>
        {hint === undefined ? null : <p class="hint">{hint}</p>}
        {requestId === undefined ? null : (
          <p class="hint">
            Request <code>{requestId}</code>
          </p>
        )}
      </div>
      {onRetry === undefined ? null : (
        <Button icon="refresh" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}

interface ErrorWords {
  readonly title: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly requestId?: string | undefined;
}

/** Clearer than the titles that the contract prescribes, such as 409 "The namespace has been concurrently modified". */
const TITLES: Readonly<Record<number, string>> = {
  400: 'Invalid request',
  401: 'Not signed in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Conflict',
  503: 'Not available',
};

/** The messages of Chromium and Firefox, and of Safari, for a failed `import()`. */
const NOT_LOADED = /dynamically imported module|Importing a module script failed/;

export function wordsOf(error: unknown): ErrorWords {
  if (error instanceof ClientError) {
    return {
      title: TITLES[error.status] ?? error.title,
      message: error.message,
      hint: error.hint,
      requestId: error.requestId,
    };
  }
  if (error instanceof ConnectionError) {
    return { title: 'No response', message: error.message, hint: 'Is the server running? Try again in a moment.' };
  }
  if (error instanceof TypeError && NOT_LOADED.test(error.message)) {
    return {
      title: 'Not loaded',
      message: 'This part of the console could not be loaded.',
      hint: 'The server is not reachable, or has been updated: load the page again.',
    };
  }
  const hint = hasHint(error) ? error.hint : undefined;
  return { title: 'That did not work', message: error instanceof Error ? error.message : String(error), hint };
}

function hasHint(error: unknown): error is { readonly hint: string } {
  return typeof error === 'object' && error !== null && 'hint' in error && typeof error.hint === 'string';
}
