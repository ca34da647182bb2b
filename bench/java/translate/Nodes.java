package translate;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.MessageLite;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import org.interweave.objects.ObjectMap;
import translate.Messages.NodeMessage;
import translate.data.node;

/** A binary tree, level by level, or a list. */
final class Nodes extends Shape<Node, node> {
  private static final int NONE = -1;

  private final int count;
  private final boolean isList;
  private final Node[] numbered;

  Nodes(String name, int count, boolean isList) {
    super(name);
    this.count = count;
    this.isList = isList;
    numbered = new Node[count];
  }

  @Override
  boolean isGraph() {
    return true;
  }

  private int left(int at) {
    return isList || 2 * at + 1 >= count ? NONE : 2 * at + 1;
  }

  private int right(int at) {
    int found = isList ? at + 1 : 2 * at + 2;
    return found >= count ? NONE : found;
  }

  @Override
  Node plain() {
    Node[] all = new Node[count];
    for (int i = 0; i < count; ++i) all[i] = new Node();
    for (int i = 0; i < count; ++i) {
      if (left(i) != NONE) all[i].left = all[left(i)];
      if (right(i) != NONE) all[i].right = all[right(i)];
    }
    return all[0];
  }

  /** All nodes level by level, into `numbered`. */
  private void number(Node root) {
    numbered[0] = root;
    int found = 1;
    for (int i = 0; i < found; ++i) {
      if (numbered[i].left != null) numbered[found++] = numbered[i].left;
      if (numbered[i].right != null) numbered[found++] = numbered[i].right;
    }
  }

  @Override
  void fill(Node data, Values values) {
    number(data);
    for (Node each : numbered) each.value = values.integer();
  }

  @Override
  long digest(Node data) {
    number(data);
    long digest = 0;
    for (Node each : numbered) digest = digest * PRIME + each.value;
    return digest;
  }

  /** A node's children get the next numbers. */
  @Override
  void put(Node data, ByteBuffer to) {
    numbered[0] = data;
    int found = 1;
    for (int i = 0; i < found; ++i) {
      Node each = numbered[i];
      to.putInt(each.value);
      to.putInt(each.left == null ? NONE : found);
      if (each.left != null) numbered[found++] = each.left;
      to.putInt(each.right == null ? NONE : found);
      if (each.right != null) numbered[found++] = each.right;
    }
  }

  @Override
  Node get(ByteBuffer from, Node into) {
    if (into == null) for (int i = 0; i < count; ++i) numbered[i] = new Node();
    else number(into);
    for (Node each : numbered) {
      each.value = from.getInt();
      int left = from.getInt();
      int right = from.getInt();
      each.left = left == NONE ? null : numbered[left];
      each.right = right == NONE ? null : numbered[right];
    }
    return numbered[0];
  }

  @Override
  MessageLite message(Node data) {
    number(data);
    NodeMessage[] made = new NodeMessage[count];
    for (int i = count - 1; i >= 0; --i) {
      NodeMessage.Builder built = NodeMessage.newBuilder().setValue(numbered[i].value);
      if (left(i) != NONE) built.setLeft(made[left(i)]);
      if (right(i) != NONE) built.setRight(made[right(i)]);
      made[i] = built.build();
    }
    return made[0];
  }

  private record Waiting(NodeMessage message, Node node) {}

  @Override
  Node read(CodedInputStream from) throws IOException {
    Node root = new Node();
    Deque<Waiting> waiting = new ArrayDeque<>();
    waiting.add(new Waiting(NodeMessage.parseFrom(from), root));
    for (Waiting next = waiting.poll(); next != null; next = waiting.poll()) {
      next.node.value = next.message.getValue();
      if (next.message.hasLeft()) {
        next.node.left = new Node();
        waiting.add(new Waiting(next.message.getLeft(), next.node.left));
      }
      if (next.message.hasRight()) {
        next.node.right = new Node();
        waiting.add(new Waiting(next.message.getRight(), next.node.right));
      }
    }
    return root;
  }

  @Override
  node shared(ObjectMap map) {
    node[] all = new node[count];
    for (int i = 0; i < count; ++i) all[i] = new node(map, i == 0 ? "data" : null);
    for (int i = 0; i < count; ++i) {
      if (left(i) != NONE) all[i].set_left(all[left(i)]);
      if (right(i) != NONE) all[i].set_right(all[right(i)]);
    }
    return all[0];
  }

  private node[] numberedShared(node root) {
    node[] all = new node[count];
    all[0] = root;
    int found = 1;
    for (int i = 0; i < found; ++i) {
      if (all[i].left != null) all[found++] = all[i].left;
      if (all[i].right != null) all[found++] = all[i].right;
    }
    return all;
  }

  @Override
  void fillShared(node data, Values values) {
    for (node each : numberedShared(data)) each.set_value(values.integer());
  }

  @Override
  long digestShared(node data) {
    long digest = 0;
    for (node each : numberedShared(data)) digest = digest * PRIME + each.value;
    return digest;
  }

  @Override
  node find(Section reader) {
    return Found.block(reader, node.class);
  }
}
