/**
 * TLS 1.3 from Node [NET-5]. PEM files are named by the options ca, cert and key, or else by IW_CA,
 * IW_CERT and IW_KEY in the environment [CRED-1]: the authorities that are trusted instead of
 * Node's own, the client's certificate, and its key.
 */
import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type ConnectionOptions,
  type TLSSocket,
} from "node:tls";
import { InterweaveError } from "../wire/error.js";
import { ErrorCode } from "../wire/protocol/error.js";

/** A certificate of this client that the server does not take, or does not find. */
const refusal = /ALERT_(.*CERTIFICATE.*|UNKNOWN_CA|DECRYPT_ERROR|ACCESS_DENIED)$/;
/** Node's names for what is wrong with the server's certificate. */
const distrust = /CERT|ISSUER|SIGNATURE|ALTNAME|PURPOSE|INVALID_CA|PATH_LENGTH/;
/** The other end sends something else than TLS, or nothing. */
const otherwise = /^(ERR_SSL_(?!.*ALERT)|ECONNRESET)/;

/** Paths of PEM files; what is not given, the environment says. */
export interface TlsFiles {
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

type Kind = keyof TlsFiles;

function unusable(path: string, kind: Kind, error: unknown, instead: string): InterweaveError {
  const variable = `IW_${kind.toUpperCase()}`;
  return new InterweaveError(
    ErrorCode.DENIED,
    `the file ${path} of ${variable} or of the option ${kind} cannot be used: ` +
      `${(error as Error).message}; name ${instead}`,
  );
}

function contents(path: string, kind: Kind): Buffer | undefined {
  if (path === "") return undefined;
  // Not shown: it may be a private key.
  const given =
    typeof path !== "string"
      ? `a ${typeof path}`
      : path.includes("-----BEGIN")
        ? "the text of one"
        : path.includes("\0")
          ? "a name with a NUL character"
          : null;
  if (given !== null) {
    throw new InterweaveError(
      ErrorCode.BAD_ARGUMENT,
      `the option ${kind} (or its variable) takes the name of a PEM file, and was given ${given}`,
    );
  }
  try {
    return readFileSync(path);
  } catch (error) {
    throw unusable(path, kind, error, "a file that this program may read");
  }
}

/** Node takes a file without one, and then trusts nobody. */
function checkHasCertificate(pem: Buffer, path: string, kind: Kind): void {
  if (/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(pem.toString("latin1"))) return;
  const error = new Error("it holds no certificate in PEM form");
  throw unusable(path, kind, error, "a PEM file of certificates");
}

/** Node would say of the file only that it failed. */
function check(path: string, kind: Kind, context: ConnectionOptions, instead: string): void {
  try {
    createSecureContext(context);
  } catch (error) {
    throw unusable(path, kind, error, instead);
  }
}

function variable(name: string): string {
  return process.env[name] ?? "";
}

/** A certificate of the program's does not go with a key of the environment's. */
function credentials(files: TlsFiles): ConnectionOptions {
  const hasOwn = files.cert !== undefined || files.key !== undefined;
  const [certFile, keyFile] = hasOwn
    ? [files.cert ?? "", files.key ?? ""]
    : [variable("IW_CERT"), variable("IW_KEY")];
  const caFile = files.ca ?? variable("IW_CA");
  const ca = contents(caFile, "ca");
  const [cert, key] = [contents(certFile, "cert"), contents(keyFile, "key")];
  if ((cert === undefined) !== (key === undefined)) {
    throw new InterweaveError(
      ErrorCode.DENIED,
      "IW_CERT and IW_KEY, or the options cert and key, belong together; set both",
    );
  }
  if (ca !== undefined) {
    checkHasCertificate(ca, caFile, "ca");
    check(caFile, "ca", { ca }, "a PEM file of certificates");
  }
  if (cert !== undefined) {
    checkHasCertificate(cert, certFile, "cert");
    check(certFile, "cert", { cert }, "a PEM file of certificates");
    check(keyFile, "key", { cert, key }, "the PEM file of the certificate's key");
  }
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert, key }),
  };
}

/**
 * Begins a connection to a server whose certificate is to have that name. It says "secureConnect"
 * once the handshake is complete.
 */
export function connectSecurely(
  host: string,
  port: number,
  name: string,
  files: TlsFiles,
): TLSSocket {
  return connect({
    host,
    port,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_host, certificate) => checkServerIdentity(name, certificate),
    minVersion: "TLSv1.3",
    ALPNProtocols: ["iw/2"],
    ...credentials(files),
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
      "authority that the server trusts in IW_CERT and its key in IW_KEY, or in the options " +
      "cert and key",
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
      "in IW_CA or the option ca",
  );
}
