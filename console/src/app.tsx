import type { ComponentType, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ClientContext, clientOf } from './api.ts';
import { DatabaseSwitch } from './database-switch.tsx';
import { Button } from './parts/button.tsx';
import { ErrorBox } from './parts/error-box.tsx';
import { Toasts } from './parts/toasts.tsx';
import { go, toHash, useRoute } from './router.ts';
import { forgetSession, keepSession, loadSession } from './session.ts';
import type { Session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { ThemeSwitch } from './theme.tsx';
import { VIEWS } from './views.ts';
import type { View } from './views.ts';
import type { ViewProps } from './router.ts';

export function App(): JSX.Element {
  const [session, setSession] = useState<Session | undefined>(loadSession);
  if (session === undefined) return <SignIn onSignedIn={setSession} />;
  const signOut = (): void => {
    forgetSession();
    go(toHash(''));
    setSession(undefined);
  };
  const choose = (database: string): void => {
    const chosen = { ...session, database };
    keepSession(chosen);
    go(toHash(''));
    setSession(chosen);
  };
  return <Frame session={session} onSignOut={signOut} onDatabase={choose} />;
}

interface FrameProps {
  readonly session: Session;
  readonly onSignOut: () => void;
  readonly onDatabase: (database: string) => void;
}

function Frame({ session, onSignOut, onDatabase }: FrameProps): JSX.Element {
  const route = useRoute();
  const view = VIEWS.find(({ id }) => id === route.view) ?? VIEWS[0];
  const client = useMemo(() => clientOf(session), [session]);
  return (
    <ClientContext.Provider value={client}>
      <a class="skip" href="#main" onClick={skipToMain}>
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={toHash('')}>
          <img src="./icon.svg" width="20" height="20" alt="" />
          Tiltyard
        </a>
        <nav aria-label="Main">
          {VIEWS.filter(({ label }) => label !== undefined).map(({ id, label }) => (
            <a key={id} href={toHash(id)} aria-current={id === (view?.under ?? view?.id) ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="spring" />
        <DatabaseSwitch database={session.database} onChange={onDatabase} />
        <ThemeSwitch />
        <Button kind="quiet" icon="out" onClick={onSignOut}>
          Sign out
        </Button>
      </header>
      <main id="main" tabIndex={-1}>
        {view === undefined ? null : (
          <Loaded key={`${session.database} ${view.under ?? view.id}`} view={view} props={{ session, route }} />
        )}
      </main>
      <Toasts />
    </ClientContext.Provider>
  );
}

/** The hash belongs to the router: the link must not change it. */
function skipToMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}

interface LoadedProps {
  readonly view: View;
  readonly props: ViewProps;
}

function Loaded({ view, props }: LoadedProps): JSX.Element | null {
  const [shown, setShown] = useState<{ Shown: ComponentType<ViewProps> } | undefined>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    view.load().then((Shown) => setShown({ Shown }), setError);
  }, []);
  if (error !== undefined) return <ErrorBox error={error} onRetry={() => location.reload()} />;
  return shown === undefined ? null : <shown.Shown {...props} />;
}
