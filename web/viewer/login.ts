/**
 * The page at which people log in [ACC-10]. A link with the server's own token behind `#` logs in
 * by itself [OWN-4]: the token leaves the browser's address, and is sent as the form sends it.
 */

/** `#TOKEN`, and where the viewer begins: `/...`. */
const LINK = /^#(iw_[0-9a-f]{12}_[0-9a-f]{64})(\/.*)?$/;

const form = document.querySelector("form");
const field = document.querySelector<HTMLInputElement>("#token");
const linked = LINK.exec(location.hash);
const place = linked === null ? location.hash.slice(1) : (linked[2] ?? "");

if (form !== null && field !== null) {
  // A browser keeps what is behind `#` when it is sent on to the viewer.
  if (place.startsWith("/")) form.action = `login#${place}`;
  if (linked !== null) {
    history.replaceState(null, "", place === "" ? "login" : `login#${place}`);
    field.value = linked[1] ?? "";
    form.submit();
  }
}

export {};
