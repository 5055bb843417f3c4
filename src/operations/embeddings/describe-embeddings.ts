import { DescribeEmbeddingsReply } from '../../wire/operating/embeddings.ts';
import { defineServerOperation, json, objectReply } from '../operation.ts';

export const describeEmbeddings = defineServerOperation({
  id: 'describe_embeddings',
  methods: ['GET'],
  path: '/v1/embeddings',
  summary: 'Show the models with which the server embeds texts to search for',
  permission: 'see',
  replies: [json(DescribeEmbeddingsReply, 'The models.')],
  async run(_request, { embeddings }) {
    return objectReply<typeof DescribeEmbeddingsReply>({ models: embeddings?.models ?? [] });
  },
});
