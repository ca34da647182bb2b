mod inbound;
mod outbound;
