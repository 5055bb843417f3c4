import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from '../parts/button.tsx';
import { ErrorBox } from '../parts/error-box.tsx';
import { formatMoment } from '../parts/format.ts';
import { readPath } from '../parts/forms/typed-names.ts';
import { Badge, Empty, Skeleton } from '../parts/states.tsx';
import { useDraft } from '../parts/use-load.ts';
import { go, toHash } from '../router.ts';
import { CommitLine } from './commit-line.tsx';
import { EVENTS_MAX } from './kept-events.ts';
import { useEvents } from './use-events.ts';
import type { FollowedEvents } from './use-events.ts';

/** The commits of the database, or of a part of it, as they happen. */
export function EventsTab({ query }: { readonly query: URLSearchParams }): JSX.Element {
  const below = readPath(query.get('of') ?? '');
  const [typed, setTyped] = useDraft(below.join('/'));
  const [isPaused, setIsPaused] = useState(false);
  const followed = useEvents(below, isPaused);
  const { events } = followed;
  const show = (event: Event): void => {
    event.preventDefault();
    go(eventsHash(readPath(typed)));
  };
  return (
    <section aria-label="Events">
      <form class="section-head" onSubmit={show}>
        <input
          class="mono"
          aria-label="Table or namespace"
          placeholder="All tables, or a path such as shop/products"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Button submits icon="filter">
          Filter
        </Button>
        <span class="spring" />
        <StreamState followed={followed} isPaused={isPaused} />
        <Button icon={isPaused ? 'play' : 'pause'} isPressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </form>
      <ErrorBox error={followed.error} />
      {events === undefined && followed.error === undefined ? <Skeleton /> : null}
      {events?.length === 0 ? (
        <Empty icon="edit" title="No commits yet">
          <p>
            Every write to {below.length === 0 ? 'a table that you may read' : below.join(' / ')} appears here at once.
          </p>
        </Empty>
      ) : null}
      {events === undefined || events.length === 0 ? null : (
        <div class="card feed events">
          <ul>
            {events.map((event) => (
              <CommitLine
                key={event.transaction_id}
                commit={event}
                time={formatMoment(Date.parse(event.committed_at))}
              />
            ))}
          </ul>
          {events.length === EVENTS_MAX ? <p class="hint">The newest {EVENTS_MAX} commits.</p> : null}
        </div>
      )}
    </section>
  );
}

interface StreamStateProps {
  readonly followed: FollowedEvents;
  readonly isPaused: boolean;
}

function StreamState({ followed: { isLive }, isPaused }: StreamStateProps): JSX.Element {
  if (isPaused) return <Badge>Paused</Badge>;
  return isLive ? <Badge kind="good">Live</Badge> : <Badge kind="warn">Connecting</Badge>;
}

export function eventsHash(below: readonly string[]): string {
  return toHash('activity', ['events'], below.length === 0 ? {} : { of: below.join('/') });
}
