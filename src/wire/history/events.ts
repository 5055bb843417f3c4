import { Type } from 'typebox';
import * as Shape from '../shapes.ts';
import { Transaction } from './transactions.ts';

export const FollowEventsQuery = Shape.queryParameters({
  cursor: Shape.optionalText(
    'Id of the last event that you received, or `start` for all recorded events; only new events by default.',
  ),
  table: Type.Optional(Type.Array(Type.String(), { description: 'Identifier of a table to follow; may be repeated.' })),
  namespace: Type.Optional(
    Type.Array(Type.String(), { description: 'Identifier of a namespace to follow; may be repeated.' }),
  ),
  operation: Type.Optional(
    Type.Array(Type.String(), {
      description: 'Kind of write, such as `insert_into_table`; may be repeated.',
    }),
  ),
});

/** The data of an event, as JSON in one line. */
export const CommitEvent = Type.Object({ ...Transaction.properties, database: Type.String() });
export type CommitEvent = Type.Static<typeof CommitEvent>;
