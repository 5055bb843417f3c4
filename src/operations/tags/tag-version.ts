import { guardTagName } from '../../guard/ref-names.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { TagBody, TagVersionReply } from '../../wire/tags.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';

export const tagVersion = defineTableOperation({
  id: 'get_table_tag_version',
  methods: ['POST'],
  path: '/v1/table/:id/tags/version',
  summary: 'Tell which version a tag names',
  permission: 'read',
  body: { kind: 'json', shape: TagBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: TagVersionReply, description: 'The version and its branch.' }],
  statuses: [],
  run: tell,
});

async function tell(request: TableRequest<TagBody>, services: Services): Promise<Reply> {
  const { table, body } = request;
  const { version, branch } = await services.engine.versions.requireTag(table.location, guardTagName(body.tag));
  const reply: TagVersionReply = { version, ...(branch === undefined ? {} : { branch }) };
  return { kind: 'object', body: reply };
}
