/**
 * The page: draws the board, and lets arrow keys walk. `?server=ws://HOST:PORT&path=/PATH` says
 * where the game is. `#TOKEN` is shown to the game's server. A browser does not send what is behind
 * `#`; the page takes it out of the address.
 */
import { cellCoin, directions, Game } from "./game.js";
import { hunt } from "./hunter.js";

const cellPixels = 28;
/** As the windows of GameWindow.java have them. */
const floor = "#f4f1e8";
const wall = "#4a4a52";
const coin = "#d9a400";
const colours = ["#1f6fb4", "#c23b22", "#2e8540", "#7b3fa0", "#d9730d", "#0f8b8d"];
const paceMs = 150;

const wanted = new URLSearchParams(location.search);
const server = wanted.get("server") ?? "ws://localhost:7748";
const path = wanted.get("path") ?? "/game";
const token = location.hash.slice(1);
if (token !== "") history.replaceState(null, "", location.pathname + location.search);
const form = document.querySelector("form");
const canvas = document.querySelector("canvas");
const status = document.querySelector("[role=status]");

function draw(now) {
  canvas.width = now.width * cellPixels;
  canvas.height = now.height * cellPixels;
  const to = canvas.getContext("2d");
  now.cells.forEach((cell, at) => {
    const [left, top] = [(at % now.width) * cellPixels, Math.floor(at / now.width) * cellPixels];
    to.fillStyle = now.isWall(at) ? wall : floor;
    to.fillRect(left, top, cellPixels, cellPixels);
    if (cell !== cellCoin) return;
    to.fillStyle = coin;
    to.beginPath();
    to.arc(left + cellPixels / 2, top + cellPixels / 2, 5, 0, 2 * Math.PI);
    to.fill();
  });
  for (const seat of now.seats.filter(({ isHere }) => isHere)) {
    const [left, top] = [seat.x * cellPixels, seat.y * cellPixels];
    to.fillStyle = colours[(seat.number - 1) % colours.length];
    to.fillRect(left + 3, top + 3, cellPixels - 6, cellPixels - 6);
    to.fillStyle = "white";
    to.fillText(seat.name.slice(0, 1), left + 11, top + cellPixels - 10);
  }
  status.textContent = now.table;
}

/** Draws each version. */
async function watch(game) {
  draw(await game.look());
  for await (const _ of game.segment) draw(await game.look());
}

/** Walks while the box is ticked and a coin is left. */
async function walk(game) {
  while (form.hunts.checked && (await game.look()).coinsLeft > 0) {
    await game.step(hunt);
    await new Promise((resolve) => setTimeout(resolve, Number(wanted.get("pace") ?? paceMs)));
  }
}

function complain(error) {
  status.textContent = error.message;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const joined = form.player.value;
  form.querySelector("button").disabled = true;
  try {
    const game = await Game.join(server, path, joined, token);
    form.player.blur();
    document.title = `game: ${joined}`;
    addEventListener("keydown", ({ key }) => {
      if (key in directions) game.step(() => directions[key]).catch(complain);
    });
    form.hunts.addEventListener("change", () => walk(game).catch(complain));
    addEventListener("pagehide", () => void game.leave());
    walk(game).catch(complain);
    await watch(game);
  } catch (error) {
    complain(error);
    form.querySelector("button").disabled = false;
  }
});
