import { Type } from 'typebox';
import { requestBody } from '../wire/shapes.ts';
import { defineTableOperation, json } from './operation.ts';
import type { Operation } from './operation.ts';

/** As releases of the LanceDB client call a buffer that writes go through first, and what they read of it. */
const QUESTIONS = [
  ['get_lsm_write_spec', 'lsm_write_spec'],
  ['get_lsm_stats', 'lsm_stats'],
  ['get_rte_spec', 'rte_spec'],
  ['get_rte_stats', 'rte_stats'],
] as const;

/** No table has one: writes go to the table at once. Clients ask before they read it in other ways. */
export const WRITE_BUFFER_OPERATIONS: readonly Operation[] = QUESTIONS.map(([id, member]) =>
  defineTableOperation({
    id,
    path: `/v1/table/:id/${id}`,
    summary: 'Show write buffers; always empty, because writes commit immediately',
    permission: 'read',
    body: { kind: 'json', shape: requestBody({}, { additionalProperties: true }) },
    replies: [json(Type.Object({ [member]: Type.Null() }), 'Always null.')],
    run: async () => ({ kind: 'value', value: { [member]: null } }),
  }),
);
