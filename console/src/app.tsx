import type { ComponentType, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { toHash, useRoute } from './router.ts';
import { forgetSession, loadSession } from './session.ts';
import type { Session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { VIEWS } from './views.ts';
import type { View, ViewProps } from './views.ts';

export function App(): JSX.Element {
  const [session, setSession] = useState<Session | undefined>(loadSession);
  if (session === undefined) return <SignIn onSignedIn={setSession} />;
  const signOut = (): void => {
    forgetSession();
    setSession(undefined);
  };
  return <Frame session={session} onSignOut={signOut} />;
}

interface FrameProps {
  readonly session: Session;
  readonly onSignOut: () => void;
}

function Frame({ session, onSignOut }: FrameProps): JSX.Element {
  const route = useRoute();
  const view = VIEWS.find(({ id }) => id === route.view) ?? VIEWS[0];
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={toHash('')}>
          Tiltyard
        </a>
        <nav aria-label="Main">
          {VIEWS.filter(({ label }) => label !== undefined).map(({ id, label }) => (
            <a key={id} href={toHash(id)} aria-current={id === view?.id ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="spring" />
        <span class="muted">{session.database}</span>
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        {view === undefined ? null : <Loaded key={view.id} view={view} props={{ session, route }} />}
      </main>
    </>
  );
}

interface LoadedProps {
  readonly view: View;
  readonly props: ViewProps;
}

function Loaded({ view, props }: LoadedProps): JSX.Element {
  const [shown, setShown] = useState<{ Shown: ComponentType<ViewProps> } | undefined>();
  useEffect(() => {
    void view.load().then((Shown) => setShown({ Shown }));
  }, [view]);
  return shown === undefined ? <p class="muted">Loading…</p> : <shown.Shown {...props} />;
}
