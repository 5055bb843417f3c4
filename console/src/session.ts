/** Kept in session storage for reloads: closing the tab forgets the credential. */
export interface Credential {
  readonly kind: 'key' | 'token';
  readonly text: string;
}

export interface Session {
  readonly credential: Credential;
  readonly database: string;
}

const STORED_AS = 'tiltyard-session';

/** Relative to the console's folder, so that it works under any base path. */
export function apiAddress(): string {
  return new URL('..', document.baseURI.split('#', 1)[0]).href.replace(/\/$/, '');
}

export function loadSession(): Session | undefined {
  const stored = sessionStorage.getItem(STORED_AS);
  if (stored === null) return undefined;
  const value: unknown = JSON.parse(stored);
  return isSession(value) ? value : undefined;
}

export function keepSession(session: Session): void {
  sessionStorage.setItem(STORED_AS, JSON.stringify(session));
}

export function forgetSession(): void {
  sessionStorage.removeItem(STORED_AS);
}

export function isSession(value: unknown): value is Session {
  if (typeof value !== 'object' || value === null || !('credential' in value) || !('database' in value)) return false;
  const { credential, database } = value;
  if (typeof database !== 'string' || typeof credential !== 'object' || credential === null) return false;
  return 'kind' in credential && 'text' in credential && typeof credential.text === 'string';
}
