import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { keepSession } from './session.ts';
import type { Session } from './session.ts';

interface SignInProps {
  readonly onSignedIn: (session: Session) => void;
}

export function SignIn({ onSignedIn }: SignInProps): JSX.Element {
  const [text, setText] = useState('');
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    const session: Session = { credential: { kind: 'key', text: text.trim() }, database: 'default' };
    keepSession(session);
    onSignedIn(session);
  };
  return (
    <main class="sign-in">
      <h1>Tiltyard</h1>
      <form onSubmit={onSubmit}>
        <label for="key">API key</label>
        <input
          id="key"
          type="password"
          autocomplete="off"
          required
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}
