import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { apiAddress, forgetSession, isSession, keepSession, loadSession } from './session.ts';
import type { Session } from './session.ts';

interface SharedSession {
  /** `undefined`: signed out; `asking`: another tab may answer in a moment. */
  readonly session: Session | 'asking' | undefined;
  readonly signIn: (session: Session) => void;
  readonly choose: (database: string) => void;
  readonly signOut: () => void;
}

type Message = { readonly kind: 'ask' | 'signed-out' } | { readonly kind: 'signed-in'; readonly session: Session };

/** How long a new tab waits before it shows the form; a later answer from a busy tab still signs it in. */
const ANSWER_MILLISECONDS = 150;

/**
 * Tabs of one browser share the session in messages, which are not stored: a new tab asks, and a signed-in one answers.
 * Signing out ends the session in all tabs.
 */
export function useSession(onSignedOut: () => void): SharedSession {
  const [session, setSession] = useState<SharedSession['session']>(() => loadSession() ?? 'asking');
  const latest = useRef(session);
  latest.current = session;
  const channel = useMemo(() => new BroadcastChannel(`tiltyard-session ${apiAddress()}`), []);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A channel reaches pages of this origin only.
  const post = (message: Message): void => channel.postMessage(message);
  const end = (): void => {
    forgetSession();
    onSignedOut();
    setSession(undefined);
  };
  const begin = (begun: Session): void => {
    keepSession(begun);
    setSession(begun);
  };
  useEffect(() => {
    const onMessage = ({ data }: MessageEvent<unknown>): void => {
      const known = latest.current;
      const isSignedIn = known !== undefined && known !== 'asking';
      const message = readMessage(data);
      if (message?.kind === 'ask' && isSignedIn) post({ kind: 'signed-in', session: known });
      if (message?.kind === 'signed-in' && !isSignedIn) begin(message.session);
      if (message?.kind === 'signed-out') end();
    };
    channel.addEventListener('message', onMessage);
    if (latest.current === 'asking') post({ kind: 'ask' });
    const timer = setTimeout(
      () => setSession((before) => (before === 'asking' ? undefined : before)),
      ANSWER_MILLISECONDS,
    );
    return () => {
      clearTimeout(timer);
      channel.close();
    };
  }, [channel]);
  return {
    session,
    signIn: (begun) => {
      begin(begun);
      post({ kind: 'signed-in', session: begun });
    },
    choose: (database) => {
      if (session === undefined || session === 'asking' || session.database === database) return;
      begin({ ...session, database });
    },
    signOut: () => {
      end();
      post({ kind: 'signed-out' });
    },
  };
}

function readMessage(data: unknown): Message | undefined {
  if (typeof data !== 'object' || data === null || !('kind' in data)) return undefined;
  if (data.kind === 'ask' || data.kind === 'signed-out') return { kind: data.kind };
  if (data.kind !== 'signed-in' || !('session' in data) || !isSession(data.session)) return undefined;
  return { kind: 'signed-in', session: data.session };
}
