import type { JSX } from 'preact';
import type { ViewProps } from '../views.ts';

export function TablesView({ session }: ViewProps): JSX.Element {
  return <h1>Tables of {session.database}</h1>;
}
