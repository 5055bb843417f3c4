import type { ComponentType, JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ClientContext, clientOf } from './api.ts';
import { CommandCenter } from './frame/command-center.tsx';
import { rememberTable } from './frame/recent-tables.ts';
import { TopBar } from './frame/top-bar.tsx';
import { forgetRecent } from './lab/queries/query-store.ts';
import { stopLoads } from './load/kept-loads.ts';
import { ErrorBox } from './parts/error-box.tsx';
import { Toasts } from './parts/toasts.tsx';
import { go, toHash, useRoute } from './router.ts';
import type { Route, ViewProps } from './router.ts';
import type { Session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { DRAFTS } from './table/rows/drafts.ts';
import { useSession } from './use-session.ts';
import { VIEWS } from './views.ts';
import type { View } from './views.ts';
import { WhoProvider } from './who.tsx';

export function App(): JSX.Element | null {
  const { session, signIn, signOut, choose } = useSession(forgetTraces);
  const [isRefused, setIsRefused] = useState(false);
  const linked = useRoute().query.get('database');
  useEffect(() => {
    if (linked !== null) choose(linked);
  }, [linked, session]);
  if (session === 'asking') return null;
  if (session === undefined) return <SignIn onSignedIn={signIn} isRefused={isRefused} />;
  const leave = (wasRefused: boolean): void => {
    setIsRefused(wasRefused);
    if (!wasRefused) go(toHash(''));
    signOut();
  };
  const changeDatabase = (database: string): void => {
    go(toHash(''));
    choose(database);
  };
  const shown = linked === null ? session : { ...session, database: linked };
  return <Frame session={shown} onLeave={leave} onDatabase={changeDatabase} />;
}

/** The next user of the browser must not see what was viewed. */
function forgetTraces(): void {
  forgetRecent();
  DRAFTS.clear();
  stopLoads();
  sessionStorage.clear();
}

interface FrameProps {
  readonly session: Session;
  readonly onLeave: (wasRefused: boolean) => void;
  readonly onDatabase: (database: string) => void;
}

function Frame({ session, onLeave, onDatabase }: FrameProps): JSX.Element {
  const route = useRoute();
  const view = VIEWS.find(({ id }) => id === route.view) ?? VIEWS[0];
  const client = useMemo(() => clientOf(session), [session.credential, session.database]);
  const [command, setCommand] = useState<'palette' | 'shortcuts'>();
  useRecentTables(session, route);
  const signOut = (): void => onLeave(false);
  return (
    <ClientContext.Provider value={client}>
      <WhoProvider onRefused={() => onLeave(true)}>
        <a class="skip" href="#main" onClick={skipToMain}>
          Skip to content
        </a>
        <TopBar
          view={view}
          database={session.database}
          onDatabase={onDatabase}
          onPalette={() => setCommand('palette')}
          onSignOut={signOut}
        />
        <main id="main" tabIndex={-1}>
          {view === undefined ? null : (
            <Loaded key={`${session.database} ${view.under ?? view.id}`} view={view} props={{ session, route }} />
          )}
        </main>
        <CommandCenter command={command} database={session.database} onCommand={setCommand} onSignOut={signOut} />
        <Toasts />
      </WhoProvider>
    </ClientContext.Provider>
  );
}

function useRecentTables({ database }: Session, { view, segments }: Route): void {
  useEffect(() => {
    const [first, ...rest] = segments;
    if (view === 'table' && first !== undefined) rememberTable(database, [first, ...rest]);
  }, [database, view, segments.join('/')]);
}

/** The router uses the hash, so the link must not change it. */
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
