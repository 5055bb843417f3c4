import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { ClientError } from '../../src/client/client-error.ts';
import { clientOf, listDatabases, pageOfNamespaces } from './api.ts';
import { Button } from './parts/button.tsx';
import { ErrorBox } from './parts/error-box.tsx';
import { TextField } from './parts/forms/field.tsx';
import { useDocumentTitle, useTask } from './parts/use-load.ts';
import { keepSession } from './session.ts';
import type { Credential, Session } from './session.ts';
import { ThemeSwitch } from './theme.tsx';

interface SignInProps {
  readonly onSignedIn: (session: Session) => void;
}

const USUAL_DATABASE = 'default';

const KINDS = [
  {
    kind: 'key',
    short: 'Key',
    label: 'API key',
    hint: 'The administrator key is in admin.key in the folder of the data.',
  },
  {
    kind: 'token',
    short: 'Token',
    label: 'Bearer token',
    hint: 'An access token of a provider that the server trusts.',
  },
] as const;

export function SignIn({ onSignedIn }: SignInProps): JSX.Element {
  const [kind, setKind] = useState<Credential['kind']>('key');
  const [text, setText] = useState('');
  const [database, setDatabase] = useState('');
  useDocumentTitle('Sign in');
  const task = useTask(async () => {
    const session = await openSession({ kind, text: text.trim() }, database.trim());
    keepSession(session);
    onSignedIn(session);
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
          hint="It can be changed later."
        />
        <ErrorBox error={task.error} />
        <Button submits kind="primary" isBusy={task.isRunning}>
          Sign in
        </Button>
        <p class="hint">Kept until the tab is closed, and sent to this server alone.</p>
      </form>
    </main>
  );
}

/** Sends a request that needs both, to report a wrong credential or database here. */
async function openSession(credential: Credential, wanted: string): Promise<Session> {
  const database = wanted === '' ? await firstDatabase(credential) : wanted;
  const session = { credential, database };
  await pageOfNamespaces(clientOf(session), [], { limit: 1 });
  return session;
}

/** The default database if visible, else the first visible one. */
async function firstDatabase(credential: Credential): Promise<string> {
  try {
    const names = await listDatabases(clientOf({ credential, database: USUAL_DATABASE }));
    return names.includes(USUAL_DATABASE) ? USUAL_DATABASE : (names[0] ?? USUAL_DATABASE);
  } catch (error) {
    if (error instanceof ClientError && error.status === 403) return USUAL_DATABASE;
    throw error;
  }
}
