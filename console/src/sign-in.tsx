import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ClientError } from '../../src/client/client-error.ts';
import { ServiceError } from '../../src/errors/service-error.ts';
import { clientOf, listDatabases, pageOfNamespaces } from './api.ts';
import { ThemeSwitch } from './frame/theme.tsx';
import { Button } from './parts/button.tsx';
import { ErrorBox } from './parts/error-box.tsx';
import { TextField } from './parts/forms/field.tsx';
import { Icon } from './parts/icon.tsx';
import { useDocumentTitle, useTask } from './parts/use-load.ts';
import type { Credential, Session } from './session.ts';

interface SignInProps {
  readonly onSignedIn: (session: Session) => void;
  /** Whether the credential of the last session is no longer valid. */
  readonly isRefused: boolean;
}

const USUAL_DATABASE = 'default';

const KINDS = [
  {
    kind: 'key',
    short: 'Key',
    label: 'API key',
    hint: 'Keys that the server creates start with ty_.',
  },
  {
    kind: 'token',
    short: 'Token',
    label: 'Bearer token',
    hint: 'From the token endpoint of this server, or from an identity provider that it trusts.',
  },
] as const;

export function SignIn({ onSignedIn, isRefused }: SignInProps): JSX.Element {
  const [kind, setKind] = useState<Credential['kind']>('key');
  const [text, setText] = useState('');
  const [database, setDatabase] = useState('');
  useDocumentTitle('Sign in');
  const task = useTask(async () => {
    onSignedIn(await openSession({ kind, text: text.trim() }, database.trim()));
  });
  const submit = (event: Event): void => {
    event.preventDefault();
    task.run();
  };
  const chosen = KINDS.find((each) => each.kind === kind) ?? KINDS[0];
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <header>
          <img src="./icon.svg" width="32" height="32" alt="" />
          <h1>Tiltyard</h1>
          <ThemeSwitch />
        </header>
        {isRefused && task.error === undefined ? (
          <p class="note">
            <Icon name="info" />
            <span>Sign in again: the last key or token has expired or was revoked.</span>
          </p>
        ) : null}
        <div class="segments" role="radiogroup" aria-label="Sign in with">
          {KINDS.map((each) => (
            <label key={each.kind}>
              <input type="radio" name="kind" checked={each.kind === kind} onChange={() => setKind(each.kind)} />
              <span>{each.short}</span>
            </label>
          ))}
        </div>
        <TextField
          label={chosen.label}
          isSecret
          value={text}
          onChange={setText}
          hint={chosen.hint}
          isRequired
          hasFocus
          isMono
        />
        <TextField
          label="Database"
          value={database}
          onChange={setDatabase}
          placeholder={USUAL_DATABASE}
          hint="You can switch later."
        />
        <ErrorBox error={task.error} />
        <Button submits kind="primary" isBusy={task.isRunning}>
          Sign in
        </Button>
        <p class="hint">
          Sent only to this server. Open tabs share it; closing the last one, or signing out, forgets it.
        </p>
        <WhereToFindKeys />
      </form>
    </main>
  );
}

function WhereToFindKeys(): JSX.Element {
  return (
    <details>
      <summary>Where do I find a key?</summary>
      <ul>
        <li>
          You run the server: its first start wrote the administrator key to <code>admin.key</code> in the data folder.
          Print it with <code>cat data/admin.key</code>. If you set <code>TILTYARD_ADMIN_KEY</code>, use that.
        </li>
        <li>
          On the server, create another: <code>tiltyard key create laptop --role reader --database default</code>
        </li>
        <li>Otherwise ask an administrator for a key with a role on your tables.</li>
      </ul>
    </details>
  );
}

/** Sends a request that needs both, so that a wrong credential or database is reported here. */
async function openSession(credential: Credential, wanted: string): Promise<Session> {
  checkCharacters(credential);
  const database = wanted === '' ? await firstDatabase(credential) : wanted;
  const session = { credential, database };
  await pageOfNamespaces(clientOf(session), [], { limit: 1 });
  return session;
}

/** Most other characters cannot be sent in a header. */
function checkCharacters({ kind, text }: Credential): void {
  if (/^[\u0021-\u007e]+$/.test(text)) return;
  const name = kind === 'key' ? 'API key' : 'access token';
  const hint = 'It must have only ASCII characters, and no spaces.';
  throw new ServiceError('Unauthenticated', `The ${name} is not valid.`, { hint });
}

/** The default database if visible, otherwise the first visible one. */
async function firstDatabase(credential: Credential): Promise<string> {
  try {
    const names = await listDatabases(clientOf({ credential, database: USUAL_DATABASE }));
    return names.includes(USUAL_DATABASE) ? USUAL_DATABASE : (names[0] ?? USUAL_DATABASE);
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return USUAL_DATABASE;
    throw error;
  }
}
