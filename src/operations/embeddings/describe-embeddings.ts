import { DescribeEmbeddingsReply } from '../../wire/operating/embeddings.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';

export const describeEmbeddings = defineServerOperation({
  id: 'describe_embeddings',
  methods: ['GET'],
  path: '/v1/embeddings',
  summary: 'List the models that can embed the text of a search',
  permission: 'see',
  replies: [json(DescribeEmbeddingsReply, 'The models.')],
  async run(_request, { embeddings }) {
    return objectReply<typeof DescribeEmbeddingsReply>({ models: embeddings?.models ?? [] });
  },
});
