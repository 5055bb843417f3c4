import { Type } from 'typebox';
import * as Shape from '../shapes.ts';

export const DescribeEmbeddingsReply = Shape.replyBody({
  models: Type.Array(Type.String(), {
    description: 'Models with which the server embeds the text of `vector_text`; none without an embedding provider.',
  }),
});
export type DescribeEmbeddingsReply = Type.Static<typeof DescribeEmbeddingsReply>;
