import { Type } from 'typebox';
import type { Analysis } from '../../model/plan.ts';
import { PlanReply } from '../../wire/data.ts';
import { chooseMediaType } from '../media-type.ts';
import type { Reply, ReplyShape } from '../operation.ts';

export const PLAN_MEDIA_TYPE = 'application/vnd.tiltyard.plan+json';

const OFFERED = ['application/json', 'text/plain', PLAN_MEDIA_TYPE] as const;

export const PLAN_REPLIES: readonly ReplyShape[] = [
  { mediaType: 'application/json', shape: Type.String(), description: 'The plan as a JSON string.' },
  { mediaType: 'text/plain', shape: Type.String(), description: 'The bare text.' },
  { mediaType: PLAN_MEDIA_TYPE, shape: PlanReply, description: 'A tree of steps with typed metrics.' },
];

/** To be asked before the plan is made: a caller who takes none of the forms need not wait for it. */
export function choosePlanMediaType(accept: string | undefined): string {
  return chooseMediaType(accept, OFFERED);
}

export function toPlanReply(mediaType: string, analysis: Analysis): Reply {
  switch (mediaType) {
    case 'text/plain':
      return { kind: 'text', text: analysis.text };
    case PLAN_MEDIA_TYPE:
      return { kind: 'object', mediaType, body: { text: analysis.text, plan: analysis.root } };
    default:
      return { kind: 'value', value: analysis.text };
  }
}
