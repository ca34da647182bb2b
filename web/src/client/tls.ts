/**
 * TLS 1.3 from Node [NET-5]. The environment names PEM files: IW_CA the authorities that are
 * trusted instead of Node's own, IW_CERT and IW_KEY the client's certificate and its key.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

/** A certificate of this client that the server does not take, or does not find. */
const refusal = /ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|DECRYPT_ERROR|ACCESS_DENIED)$/;
/** Node's names for what is wrong with the server's certificate. */
const distrust = /CERT|ISSUER|SIGNATURE|ALTNAME|PURPOSE|INVALID_CA|PATH_LENGTH/;
/** The other end sends something else than TLS, or nothing. */
const otherwise = /^(ERR_SSL_(?!.*ALERT)|ECONNRESET)/;

function file(name: string): Buffer | undefined {
  const path = process.env[name];
  if (path === undefined || path === "") return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const why = (error as Error).message;
    throw new InterweaveError(ErrorCode.DENIED, `${name} names ${path}: ${why}`);
  }
}

function credentials(): ConnectionOptions {
  const [ca, cert, key] = [file("IW_CA"), file("IW_CERT"), file("IW_KEY")];
  if ((cert === undefined) !== (key === undefined)) {
    throw new InterweaveError(ErrorCode.DENIED, "IW_CERT and IW_KEY belong together; set both");
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert, key }),
  };
}

/** Begins a connection, which says "secureConnect" once the handshake is complete. */
export function connectSecurely(host: string, port: number): TLSSocket {
  return connect({
    host,
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    minVersion: "TLSv1.3",
    ALPNProtocols: ["iw/2"],
    ...credentials(),
  });
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? "";
}

/** DENIED, if the server does not take this client's certificate; else null. */
export function tlsRefusal(url: string, error: Error): InterweaveError | null {
  const code = codeOf(error);
  if (!refusal.test(code)) return null;
  return new InterweaveError(
    ErrorCode.DENIED,
    `${url} refused this client's certificate, or wants one (${code}); name one of an ` +
      "authority that the server trusts in IW_CERT, and its key in IW_KEY",
  );
}

/** Why a handshake failed; null: because of the network, not of TLS. */
export function tlsError(url: string, error: Error): InterweaveError | null {
  const refused = tlsRefusal(url, error);
  if (refused !== null) return refused;
  const code = codeOf(error);
  if (otherwise.test(code)) {
    return new InterweaveError(
      ErrorCode.UNREACHABLE,
      `${url} does not answer with TLS (${error.message}); use iw://, or start the server with ` +
        "--tls-cert",
    );
  }
  if (!distrust.test(code)) return null;
  return new InterweaveError(
    ErrorCode.DENIED,
    `the certificate of ${url} is not trusted: ${error.message}; name the file of its authority ` +
      "in IW_CA",
  );
}
