/**
 * The game as one player sees it, like SharedGame.java. All that the page has to do with sharing is
 * here. A step takes the writer lock, and so decides on the newest board; a picture may be 50 ms
 * behind.
 */
import { Coherence, connect, ErrorCode } from "interweave";

const behindSeconds = 0.05;
/** game.x */
const width = 24;
const height = 16;
const cellFree = 0;
const cellWall = 1;
export const cellCoin = 2;

const undone = [ErrorCode.FENCED, ErrorCode.ROLLED_BACK];

export const directions = {
  ArrowUp: { dx: 0, dy: -1 },
  ArrowDown: { dx: 0, dy: 1 },
  ArrowLeft: { dx: -1, dy: 0 },
  ArrowRight: { dx: 1, dy: 0 },
};

/** The board, copied, so that it can be drawn without a lock. */
class Picture {
  constructor(board) {
    this.width = width;
    this.height = height;
    this.cells = [...board.cells];
    this.coinsLeft = board.coins_left;
    this.seats = [];
    for (const { name, number, x, y, points, is_here: isHere } of players(board)) {
      this.seats.unshift({ name, number, x, y, points, isHere });
    }
  }

  isFree(x, y) {
    if (x < 0 || y < 0 || x >= width || y >= height) return false;
    if (this.cells[y * width + x] === cellWall) return false;
    return !this.seats.some((seat) => seat.isHere && seat.x === x && seat.y === y);
  }

  isWall(at) {
    return this.cells[at] === cellWall;
  }

  /** Who has how many points, in a line that is the same at every player. */
  get table() {
    const rows = this.seats.map(({ name, points }) => `${name} ${points}`);
    return [...rows, `${this.coinsLeft} left`].join(", ");
  }
}

function* players(board) {
  for (let each = board.players; each !== null; each = each.next) yield each;
}

export class Game {
  /** A program in Java makes the board. */
  static async join(server, path, name, token = "") {
    const client = await connect(server, { token });
    const segment = await client.open(path, { create: false });
    segment.coherence = Coherence.temporal(behindSeconds);
    const game = new Game(client, segment, name);
    await segment.write(() => void game.#arrive());
    return game;
  }

  #name;

  constructor(client, segment, name) {
    this.client = client;
    this.segment = segment;
    this.#name = name;
  }

  /** This player, who is here from now on. */
  #arrive() {
    const board = this.segment.get("board");
    const own = [...players(board)].find((each) => each.name === this.#name);
    if (own?.is_here) return own;
    return this.#place(board, own ?? this.#sitDown(board));
  }

  #sitDown(board) {
    const own = this.segment.allocate("player").value;
    board.last_number += 1;
    own.name = this.#name;
    own.number = board.last_number;
    own.next = board.players;
    board.players = own;
    return own;
  }

  /** In a free cell without a coin, because coins are for those who walk. */
  #place(board, own) {
    const now = new Picture(board);
    if (!now.isFree(own.x, own.y)) {
      const at = now.cells.findIndex(
        (cell, i) => cell === cellFree && now.isFree(i % width, Math.floor(i / width)),
      );
      own.x = at % width;
      own.y = Math.floor(at / width);
    }
    own.is_here = true;
    return own;
  }

  /**
   * Steps as `choose(newest board, own player)` says. False: not at all, or the server was started
   * anew within the step and undid it.
   */
  async step(choose) {
    try {
      return await this.#step(choose);
    } catch (error) {
      if (undone.includes(error.code)) return false;
      throw error;
    }
  }

  #step(choose) {
    return this.segment.write(() => {
      const own = this.#arrive();
      const board = this.segment.get("board");
      const now = new Picture(board);
      const to = choose(now, own);
      if (to === null || !now.isFree(own.x + to.dx, own.y + to.dy)) return false;
      own.x += to.dx;
      own.y += to.dy;
      const at = own.y * width + own.x;
      if (now.cells[at] === cellCoin) {
        board.cells[at] = cellFree;
        board.coins_left -= 1;
        own.points += 1;
      }
      return true;
    });
  }

  /** The board, at most 50 ms old. */
  look() {
    return this.segment.read(() => new Picture(this.segment.get("board")));
  }

  /** Leaves; the points stay until the next game. */
  async leave() {
    await this.segment.write(() => void (this.#arrive().is_here = false));
    await this.client.close();
  }
}
