package org.interweave.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.interweave.Interface.Error;
import org.interweave.InterweaveException;
import org.interweave.coherence.Bound;
import org.interweave.coherence.Freshness;
import org.interweave.coherence.Knowledge;
import org.interweave.wire.ByteWriter;
import org.interweave.wire.Message;
import org.interweave.wire.protocol.ErrorCodec.ErrorCode;
import org.interweave.wire.protocol.ErrorCodec.ErrorReply;
import org.interweave.wire.protocol.LockCodec.AbortWriter;
import org.interweave.wire.protocol.LockCodec.CoherenceModel;
import org.interweave.wire.protocol.LockCodec.ReaderAcquired;
import org.interweave.wire.protocol.LockCodec.WriterAcquired;
import org.interweave.wire.protocol.LockCodec.WriterKept;
import org.interweave.wire.protocol.LockCodec.WriterReleased;
import org.interweave.wire.protocol.LockCodec.WriterRenewed;
import org.interweave.wire.protocol.NotifyCodec.Credit;
import org.interweave.wire.protocol.NotifyCodec.NotRecent;
import org.interweave.wire.protocol.NotifyCodec.Push;
import org.interweave.wire.protocol.NotifyCodec.RecallWriter;
import org.interweave.wire.protocol.NotifyCodec.SegmentGone;
import org.interweave.wire.protocol.NotifyCodec.Subscribe;
import org.interweave.wire.protocol.NotifyCodec.Subscribed;
import org.interweave.wire.protocol.NotifyCodec.WriterLost;
import org.interweave.wire.protocol.SegmentCodec.Durability;
import org.interweave.wire.protocol.SegmentCodec.SegmentOpened;
import org.interweave.wire.protocol.SegmentCodec.VersionStamp;
import org.interweave.wire.protocol.SessionCodec.Envelope;
import org.interweave.wire.protocol.SessionCodec.MessageType;
import org.interweave.wire.protocol.XdrCodec;
import org.junit.jupiter.api.Test;

/** Orders of messages, as native/session/conversation_test.cc has them, without a server. */
class ConversationTest {
  private static final long SECOND = 1_000_000_000;
  private static final long LEASE_MS = 30_000;
  private static final long NUMBER = 3;

  private final Conversation conversation = new Conversation("/s");

  private static VersionStamp version(long number) {
    return new VersionStamp(1, number, number * 31);
  }

  private static byte[] diff(long from, long to) {
    ByteWriter out = new ByteWriter();
    out.put(new byte[] {'I', 'W', 'D', '1', 0});
    out.varint(from);
    out.varint(to);
    return out.finish();
  }

  private static <T> Message message(MessageType type, XdrCodec<T> codec, T body) {
    return Message.of(type, 1, codec, body);
  }

  private static Message error(ErrorCode code) {
    return message(MessageType.ERROR, ErrorReply.CODEC, new ErrorReply(code, "no", List.of()));
  }

  private void open(long newest) {
    SegmentOpened body =
        new SegmentOpened(
            NUMBER, false, version(newest), Durability.SYNCED, 0, 0, 0, List.of());
    conversation.opened(message(MessageType.SEGMENT_OPENED, SegmentOpened.CODEC, body));
  }

  private void hear(MessageType asked, Message answer, boolean isLate, long now) {
    conversation.heard(asked, answer, isLate, now, now);
  }

  private static Message acquired(long from, long to) {
    ReaderAcquired body = new ReaderAcquired(version(to), true);
    byte[] encoded = ReaderAcquired.CODEC.toBytes(body);
    return Message.of(MessageType.READER_ACQUIRED, 1, encoded, diff(from, to));
  }

  private static Message granted(long fence, long newest) {
    WriterAcquired body =
        new WriterAcquired(version(newest), false, fence, LEASE_MS, 60_000, 10, 5);
    return message(MessageType.WRITER_ACQUIRED, WriterAcquired.CODEC, body);
  }

  /** The copy is at version 1. */
  private void fetchFirst() {
    open(1);
    hear(MessageType.ACQUIRE_READER, acquired(0, 1), false, SECOND);
    apply();
  }

  private void apply() {
    CopyState state = conversation.state();
    for (StagedDiff diff = state.takeStaged(); diff != null; diff = state.takeStaged()) {
      state.applied(diff);
    }
    conversation.giveCredit();
  }

  private List<MessageType> sent() {
    List<MessageType> types = new ArrayList<>();
    Conversation.Effect effect = conversation.takeEffect();
    for (; effect != null; effect = conversation.takeEffect()) types.add(effect.type());
    return types;
  }

  @Test
  void aGrantForAThreadThatGaveUpIsGivenBack() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), true, SECOND);
    assertNull(conversation.grant());
    assertEquals(1, conversation.lateGrants());
    Conversation.Effect effect = conversation.takeEffect();
    assertEquals(MessageType.ABORT_WRITER, effect.type());
    assertEquals(7, AbortWriter.CODEC.fromBytes(effect.body()).fence());
  }

  /** [LOCK-16]: the message may be lost with its connection, and the session be resumed. */
  @Test
  void anAbortThatWasNotAnsweredIsSentAgainOnTheNextConnection() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    conversation.writingEnded();
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
    conversation.connectionLost();
    open(1);
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
    hear(MessageType.ABORT_WRITER, Message.of(MessageType.DONE, 1), true, SECOND);
    conversation.connectionLost();
    open(1);
    assertEquals(List.of(), sent());
  }

  /** Others may have written since the release was committed [FRESH-2]. */
  @Test
  void aRepeatedReleaseConfirmsTheCopyAsOfItsFirstSending() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    conversation.releasing(2 * SECOND);
    conversation.resolved(version(2), 9 * SECOND);
    assertEquals(2 * SECOND, Freshness.confirmedAt(conversation.state().knowledge(0, 0)));
    WriterReleased body = new WriterReleased(List.of(version(3)));
    Message answer = message(MessageType.WRITER_RELEASED, WriterReleased.CODEC, body);
    conversation.releasing(10 * SECOND);
    hear(MessageType.RELEASE_WRITER, answer, false, 20 * SECOND);
    assertEquals(10 * SECOND, Freshness.confirmedAt(conversation.state().knowledge(0, 0)));
  }

  /** [LOCK-3] */
  @Test
  void theLeaseIsRenewedAfterAThirdAndNotTwice() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    conversation.tick(10 * SECOND);
    assertEquals(List.of(), sent());
    conversation.tick(11 * SECOND);
    conversation.tick(12 * SECOND);
    assertEquals(List.of(MessageType.RENEW_WRITER), sent());
    WriterRenewed body = new WriterRenewed(LEASE_MS);
    Message renewed = message(MessageType.WRITER_RENEWED, WriterRenewed.CODEC, body);
    hear(MessageType.RENEW_WRITER, renewed, true, 11 * SECOND);
    conversation.tick(20 * SECOND);
    assertEquals(List.of(), sent());
    conversation.tick(21 * SECOND);
    assertEquals(List.of(MessageType.RENEW_WRITER), sent());
    conversation.connectionLost();
    open(1);
    conversation.tick(22 * SECOND);
    assertEquals(List.of(MessageType.RENEW_WRITER), sent(), "its answer was lost");
    hear(MessageType.RENEW_WRITER, error(ErrorCode.FENCED), true, 22 * SECOND);
    assertTrue(conversation.grant().isLost());
    conversation.tick(50 * SECOND);
    assertEquals(List.of(), sent());
  }

  @Test
  void noRenewalFollowsTheLongestHold() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    Message renewed =
        message(MessageType.WRITER_RENEWED, WriterRenewed.CODEC, new WriterRenewed(LEASE_MS));
    hear(MessageType.RENEW_WRITER, renewed, true, 55 * SECOND);
    conversation.tick(100 * SECOND);
    assertEquals(List.of(), sent());
  }

  /** [LOCK-5] */
  @Test
  void onlyTheFenceAtHandIsLost() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    notifyLost(6);
    assertFalse(conversation.grant().isLost());
    notifyLost(7);
    assertTrue(conversation.grant().isLost());
  }

  private void notifyLost(long fence) {
    WriterLost body = new WriterLost(NUMBER, fence);
    conversation.notified(message(MessageType.WRITER_LOST, WriterLost.CODEC, body));
  }

  @Test
  void aRemovedSegmentFailsEveryLock() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    SegmentGone body = new SegmentGone(NUMBER);
    conversation.notified(message(MessageType.SEGMENT_GONE, SegmentGone.CODEC, body));
    assertTrue(conversation.grant().isLost());
    InterweaveException wrong =
        assertThrows(InterweaveException.class, conversation::check);
    assertEquals(Error.REMOVED, wrong.code());
  }

  /** [LOST-1] */
  @Test
  void anOlderOrMissingSegmentIsLost() {
    fetchFirst();
    conversation.connectionLost();
    assertFalse(conversation.mayCreate());
    open(0);
    assertNotNull(conversation.loss());
    assertEquals(List.of(MessageType.CLOSE_SEGMENT), sent());
    Conversation other = new Conversation("/t");
    assertTrue(other.mayCreate());
    other.opened(error(ErrorCode.NO_SEGMENT));
    assertNull(other.loss(), "it had nothing");
  }

  /** [COH-11] The server lost versions 2 to 9, of which the client had heard. */
  @Test
  void aServerThatWentBackFromWhatWasHeardSaysWhatIsNewest() {
    fetchFirst();
    conversation.state().newestIs(version(9), SECOND);
    conversation.connectionLost();
    open(1);
    assertNull(conversation.loss());
    assertEquals(version(1), conversation.state().newest());
    conversation.state().newestIs(version(2), SECOND);
    assertEquals(version(2), conversation.state().newest());
  }

  /** [OPEN-2] */
  @Test
  void anOpeningThatIsNotWantedAnyMoreIsClosed() {
    conversation.close();
    assertEquals(List.of(), sent());
    open(1);
    assertEquals(List.of(MessageType.CLOSE_SEGMENT), sent());
    assertFalse(conversation.isOpen());
  }

  /** [LOCK-11] */
  @Test
  void aStrictLockIsGivenBackByTheLastReaderOrByALateAnswer() {
    fetchFirst();
    conversation.question(new Bound(CoherenceModel.STRICT, 0), false, 0);
    conversation.entered(true);
    conversation.entered(true);
    conversation.strictLeft();
    assertEquals(List.of(), sent());
    conversation.strictLeft();
    assertEquals(List.of(MessageType.RELEASE_READER), sent());
    hear(MessageType.ACQUIRE_READER, acquired(1, 2), true, SECOND);
    assertEquals(List.of(MessageType.RELEASE_READER), sent());
  }

  private void subscribe(long now) {
    conversation.listen(true);
    Subscribed body = new Subscribed(version(1));
    Message answer = message(MessageType.SUBSCRIBED, Subscribed.CODEC, body);
    hear(MessageType.SUBSCRIBE, answer, true, now);
  }

  /** [NOT-2, NOT-4] */
  @Test
  void aPushedDiffIsStagedAndCreditedOnceItWasApplied() {
    fetchFirst();
    subscribe(SECOND);
    assertEquals(List.of(MessageType.SUBSCRIBE), sent());
    push(1, 2);
    assertEquals(2, conversation.state().reach().number());
    assertEquals(1, conversation.state().have().number());
    assertEquals(List.of(), sent());
    apply();
    Conversation.Effect effect = conversation.takeEffect();
    assertEquals(diff(1, 2).length, Credit.CODEC.fromBytes(effect.body()).bytes());
    assertEquals(2, conversation.state().have().number());
  }

  private void push(long from, long to) {
    Push body = new Push(NUMBER, version(from), version(to));
    byte[] encoded = Push.CODEC.toBytes(body);
    conversation.notified(Message.of(MessageType.PUSH, 1, encoded, diff(from, to)));
  }

  @Test
  void aPushThatFitsNothingIsDropped() {
    fetchFirst();
    subscribe(SECOND);
    sent();
    push(2, 3);
    assertFalse(conversation.state().hasStaged());
    assertEquals(3, conversation.state().newest().number());
    assertNull(conversation.state().knowledge(0, SECOND).promise(), "silence means nothing now");
    conversation.giveCredit();
    assertEquals(List.of(MessageType.CREDIT), sent());
  }

  /** [NOT-1] */
  @Test
  void afterNotRecentTheServersSilenceMeansNothing() {
    fetchFirst();
    subscribe(SECOND);
    assertNotNull(conversation.state().knowledge(0, SECOND).promise());
    NotRecent body = new NotRecent(NUMBER, version(2));
    conversation.notified(message(MessageType.NOT_RECENT, NotRecent.CODEC, body));
    assertNull(conversation.state().knowledge(0, SECOND).promise());
    hear(MessageType.ACQUIRE_READER, acquired(1, 2), false, SECOND);
    apply();
    assertNotNull(conversation.state().knowledge(0, SECOND).promise());
  }

  /** [FRESH-2] It may have been long on its way. */
  @Test
  void aNotificationConfirmsAsOfWhatWasHeardOfBefore() {
    fetchFirst();
    subscribe(SECOND);
    push(1, 2);
    apply();
    assertEquals(SECOND, conversation.state().knowledge(0, SECOND).confirmed());
    assertEquals(Freshness.NEVER, conversation.state().asOfNotified(version(1)), "out of order");
  }

  /** [FRESH-3] */
  @Test
  void thePromiseIsAboutTheDiffsThatWaitAndNotAboutTheCopy() {
    fetchFirst();
    subscribe(SECOND);
    push(1, 2);
    CopyState state = conversation.state();
    Knowledge known = state.knowledge(0, SECOND);
    assertNull(known.promise());
    assertNotNull(state.withStaged(known).promise());
    apply();
    assertNotNull(state.knowledge(0, SECOND).promise());
  }

  /** [FRESH-3] The server counts the client as having the diff. */
  @Test
  void subscribedDoesNotMendADiffThatWasDropped() {
    fetchFirst();
    push(2, 3);
    CopyState state = conversation.state();
    state.subscribed(Bound.FULL, version(3), SECOND);
    assertNull(state.knowledge(0, SECOND).promise(), "SUBSCRIBE was sent before");
    state.unsubscribed();
    state.subscribed(Bound.FULL, version(3), SECOND);
    assertNotNull(state.knowledge(0, SECOND).promise());
  }

  /** [NOT-5] NOT_RECENT follows at once, perhaps in another packet. */
  @Test
  void subscribedPromisesNoUnitsOfAnOlderCopyUntilMoreIsHeard() {
    fetchFirst();
    CopyState state = conversation.state();
    state.subscribed(new Bound(CoherenceModel.DELTA, 2), version(2), SECOND);
    assertNotNull(state.knowledge(0, SECOND).promise());
    state.subscribed(new Bound(CoherenceModel.DIFF, 2), version(2), SECOND);
    assertNull(state.knowledge(0, SECOND).promise());
    state.upToDate(version(2), SECOND);
    assertNotNull(state.knowledge(0, SECOND).promise());
  }

  private static Message first(Message whole, long stream) {
    Envelope envelope = new Envelope(whole.envelope().type(), stream, whole.bulk().length);
    return new Message(envelope, whole.body(), new byte[0], Message.Part.FIRST);
  }

  private static Message rest(Message whole, long stream) {
    Envelope envelope = new Envelope(whole.envelope().type(), stream, whole.bulk().length);
    return new Message(envelope, whole.body(), whole.bulk(), Message.Part.REST);
  }

  /** [NOT-6] The server counts the client as having version 2 meanwhile. */
  @Test
  void nothingIsPromisedFromTheFirstFrameOfADiffToTheLast() {
    fetchFirst();
    subscribe(SECOND);
    CopyState state = conversation.state();
    byte[] pushed = Push.CODEC.toBytes(new Push(NUMBER, version(1), version(2)));
    Message push = Message.of(MessageType.PUSH, 1, pushed, diff(1, 2));
    conversation.begins(first(push, 9));
    assertNull(state.knowledge(0, SECOND).promise());
    assertEquals(version(2), conversation.question(Bound.FULL, false, 0).have());
    assertEquals(version(2), conversation.writerQuestion(0).have());
    conversation.notified(Message.of(MessageType.HEARTBEAT, 10));
    assertNull(state.knowledge(0, SECOND).promise());
    conversation.notified(rest(push, 9));
    apply();
    assertNotNull(state.knowledge(0, SECOND).promise());
    conversation.begins(first(acquired(2, 3), 5));
    assertNull(state.knowledge(0, SECOND).promise());
    assertEquals(version(2), conversation.question(Bound.FULL, false, 0).have());
    hear(MessageType.ACQUIRE_READER, rest(acquired(2, 3), 5), false, SECOND);
    apply();
    assertNotNull(state.knowledge(0, SECOND).promise());
    conversation.begins(first(acquired(3, 4), 7));
    conversation.connectionLost();
    state.subscribed(Bound.FULL, version(3), SECOND);
    assertNotNull(state.knowledge(0, SECOND).promise(), "the message was lost");
  }

  /** [COH-1] The diff that the question counted on could not be used. */
  @Test
  void anAnswerAboutAVersionThatWasDroppedIsAskedForAgain() {
    fetchFirst();
    ReaderAcquired isRecent = new ReaderAcquired(version(2), false);
    CopyState.Asked asked = conversation.state().asked();
    assertEquals(version(1), asked.have());
    assertFalse(conversation.state().mustAskAgain(isRecent, asked));
    assertTrue(conversation.state().mustAskAgain(isRecent, new CopyState.Asked(version(2), 0)));
    assertTrue(conversation.state().mustAskAgain(new ReaderAcquired(version(2), true), asked));
    conversation.state().forget();
    assertTrue(conversation.state().mustAskAgain(isRecent, asked));
    CopyState.Asked nothing = conversation.state().asked();
    assertFalse(conversation.state().mustAskAgain(isRecent, nothing));
  }

  /**
   * [FRESH-2] A push crosses the question: the server makes its next diff from the version that was
   * named. It counts that diff as applied, and answers without one.
   */
  @Test
  void anAnswerThatCountsOnADroppedDiffIsAskedForAgain() {
    fetchFirst();
    CopyState state = conversation.state();
    CopyState.Asked asked = state.asked();
    ReaderAcquired isRecent = new ReaderAcquired(version(3), false);
    push(1, 2);
    assertFalse(state.mustAskAgain(isRecent, asked), "it is recent enough");
    push(1, 3);
    assertEquals(version(2), state.reach());
    assertTrue(state.mustAskAgain(isRecent, asked));
    assertFalse(state.mustAskAgain(isRecent, state.asked()), "the server knows what is here");
    push(2, 3);
    assertFalse(state.mustAskAgain(isRecent, asked));
  }

  /** [COH-11] No program has seen version 3. If one saw it now, its copy would go back later. */
  @Test
  void diffsBeyondAServerThatLostVersionsAreDropped() {
    VersionStamp last = version(3);
    VersionStamp otherHistory =
        new VersionStamp(last.incarnation(), last.number(), last.chain() + 1);
    VersionStamp otherLife = new VersionStamp(last.incarnation() + 1, 9, last.chain());
    fetchFirst();
    CopyState state = conversation.state();
    for (VersionStamp newest : List.of(version(1), version(2), otherHistory, otherLife)) {
      push(1, 2);
      push(2, 3);
      assertEquals(last, state.reach());
      state.connectionLost();
      state.openedAt(newest);
      assertEquals(version(1), state.reach());
      assertFalse(state.hasStaged());
      assertEquals(newest, state.newest());
    }
    push(1, 2);
    state.connectionLost();
    state.openedAt(version(3));
    assertEquals(version(2), state.reach(), "the server has it");
  }

  /** [POLL-1] */
  @Test
  void threeUnreadNotificationsEndTheSubscription() {
    fetchFirst();
    for (int i = 0; i < 3; ++i) conversation.state().adaptation.asked(true);
    conversation.watch();
    assertEquals(List.of(MessageType.SUBSCRIBE), sent());
    conversation.watch();
    assertEquals(List.of(), sent(), "one is under way");
    Message answer =
        message(MessageType.SUBSCRIBED, Subscribed.CODEC, new Subscribed(version(1)));
    hear(MessageType.SUBSCRIBE, answer, true, SECOND);
    for (int i = 1; i <= 3; ++i) push(i, i + 1);
    assertEquals(List.of(MessageType.UNSUBSCRIBE), sent());
  }

  @Test
  void anotherBoundIsSubscribedAnewAndALostConnectionEndsIt() {
    fetchFirst();
    subscribe(SECOND);
    sent();
    conversation.follow(new Bound(CoherenceModel.DELTA, 2));
    assertEquals(List.of(MessageType.SUBSCRIBE), sent());
    conversation.connectionLost();
    conversation.follow(Bound.FULL);
    assertEquals(List.of(), sent());
    open(1);
    conversation.tick(SECOND);
    assertEquals(List.of(MessageType.SUBSCRIBE), sent());
  }

  /** The answer under the old model comes after the model has changed [POLL-1]. */
  @Test
  void aSubscriptionFollowsTheModelOnceItIsGranted() {
    fetchFirst();
    conversation.listen(true);
    sent();
    conversation.follow(new Bound(CoherenceModel.DELTA, 2));
    assertEquals(List.of(), sent(), "one is under way");
    Message answer =
        message(MessageType.SUBSCRIBED, Subscribed.CODEC, new Subscribed(version(1)));
    hear(MessageType.SUBSCRIBE, answer, true, SECOND);
    assertEquals(List.of(MessageType.SUBSCRIBE), sent());
  }

  /** The first acquire asks for the first copy: pushed, too, it would come twice. */
  @Test
  void diffsAreNotPushedToAClientWithoutACopy() {
    open(1);
    conversation.listen(true);
    Subscribe first = Subscribe.CODEC.fromBytes(conversation.takeEffect().body());
    assertFalse(first.push());
    Message answer =
        message(MessageType.SUBSCRIBED, Subscribed.CODEC, new Subscribed(version(1)));
    hear(MessageType.SUBSCRIBE, answer, true, SECOND);
    hear(MessageType.ACQUIRE_READER, acquired(0, 1), false, SECOND);
    conversation.watch();
    Subscribe second = Subscribe.CODEC.fromBytes(conversation.takeEffect().body());
    assertTrue(second.push());
  }

  /** [LOCK-11]: RELEASE_READER, or the answer that brought the lock, may be lost. */
  @Test
  void aStrictLockIsGivenBackOnTheNextConnection() {
    fetchFirst();
    conversation.question(new Bound(CoherenceModel.STRICT, 0), false, 0);
    conversation.entered(true);
    conversation.connectionLost();
    conversation.strictLeft();
    assertEquals(List.of(), sent());
    open(1);
    assertEquals(List.of(MessageType.RELEASE_READER), sent());
    conversation.connectionLost();
    conversation.sessionEnded();
    open(1);
    assertEquals(List.of(), sent(), "the lock has ended with its session");
  }

  @Test
  void aStrictReaderKeepsItsLockOnTheNextConnection() {
    fetchFirst();
    conversation.question(new Bound(CoherenceModel.STRICT, 0), false, 0);
    conversation.entered(true);
    conversation.connectionLost();
    open(1);
    assertEquals(List.of(), sent());
    conversation.strictLeft();
    assertEquals(List.of(MessageType.RELEASE_READER), sent());
  }

  /** The locks of a session end with it. */
  @Test
  void aGrantIsLostWithItsSession() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    conversation.connectionLost();
    conversation.sessionEnded();
    open(1);
    assertTrue(conversation.grant().isLost());
    conversation.writingEnded();
    assertEquals(List.of(), sent(), "nothing is to be given back");
  }

  // ---- kept grants ----

  private static Message kept(long version) {
    WriterKept body = new WriterKept(List.of(version(version)));
    return message(MessageType.WRITER_KEPT, WriterKept.CODEC, body);
  }

  private static Message released(long version) {
    WriterReleased body = new WriterReleased(List.of(version(version)));
    return message(MessageType.WRITER_RELEASED, WriterReleased.CODEC, body);
  }

  /** A section has ended, and its grant, with fence 5, is kept on version 2. */
  private void keep() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(5, 1), false, SECOND);
    hear(MessageType.RELEASE_WRITER, kept(2), false, SECOND);
    conversation.writingEnded();
    assertTrue(conversation.keepsGrant());
    assertEquals(List.of(), sent());
  }

  private void recall(long fence) {
    RecallWriter body = new RecallWriter(NUMBER, fence);
    conversation.notified(message(MessageType.RECALL_WRITER, RecallWriter.CODEC, body));
  }

  /** [LOCK-14] */
  @Test
  void aKeptGrantServesFurtherSectionsWithoutAMessage() {
    keep();
    for (int section = 0; section < 3; ++section) {
      assertTrue(conversation.resume(2 * SECOND));
      assertEquals(5, conversation.grant().fence());
      assertEquals(2, conversation.grant().newest().number());
      assertTrue(conversation.mayEndUnsaid(2 * SECOND));
      conversation.writingEnded();
      assertEquals(List.of(), sent());
    }
    assertTrue(conversation.keepsGrant());
  }

  /** [LOCK-14] */
  @Test
  void noSectionBeginsWhenAThirdOfTheLeaseIsOver() {
    keep();
    assertFalse(conversation.resume(SECOND + LEASE_MS * 1_000_000 / 3));
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-14] */
  @Test
  void aSectionThatOutlivedItsLeaseAsksTheServer() {
    keep();
    assertTrue(conversation.resume(2 * SECOND));
    assertFalse(conversation.mayEndUnsaid(SECOND + LEASE_MS * 1_000_000));
  }

  /** [LOCK-13] */
  @Test
  void aFirstSectionIsNeverEndedWithoutAMessage() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(5, 1), false, SECOND);
    assertFalse(conversation.mayEndUnsaid(SECOND));
    conversation.writingEnded();
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-15] */
  @Test
  void aRecalledGrantIsGivenBackAtOnce() {
    keep();
    recall(4);
    assertTrue(conversation.keepsGrant(), "that was an earlier grant");
    recall(5);
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
    assertFalse(conversation.resume(2 * SECOND));
    assertEquals(List.of(), sent());
  }

  /** [LOCK-15] */
  @Test
  void aGrantThatIsRecalledInASectionEndsWithTheSection() {
    keep();
    assertTrue(conversation.resume(2 * SECOND));
    recall(5);
    assertEquals(List.of(), sent());
    assertFalse(conversation.mayEndUnsaid(2 * SECOND));
    conversation.writingEnded();
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
    assertFalse(conversation.keepsGrant());
  }

  /** [LOCK-15] */
  @Test
  void aReleaseAfterTheRecallEndsTheGrant() {
    keep();
    assertTrue(conversation.resume(2 * SECOND));
    recall(5);
    hear(MessageType.RELEASE_WRITER, released(3), false, 2 * SECOND);
    conversation.writingEnded();
    assertEquals(List.of(), sent());
    assertFalse(conversation.keepsGrant());
  }

  /** [LOCK-13] */
  @Test
  void aRefusedReleaseGivesAKeptGrantBack() {
    keep();
    assertTrue(conversation.resume(2 * SECOND));
    hear(MessageType.RELEASE_WRITER, error(ErrorCode.QUOTA), false, 2 * SECOND);
    assertFalse(conversation.mayEndUnsaid(2 * SECOND));
    conversation.writingEnded();
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-15] */
  @Test
  void anUnusedGrantIsGivenBackAfterASecond() {
    keep();
    conversation.tick(2 * SECOND - 1);
    assertEquals(List.of(), sent());
    conversation.tick(2 * SECOND);
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-16] */
  @Test
  void aKeptGrantEndsWithItsConnection() {
    keep();
    conversation.connectionLost();
    assertFalse(conversation.resume(2 * SECOND));
    open(2);
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-16] */
  @Test
  void whatALostConnectionLeftIsNotKept() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(5, 1), false, SECOND);
    conversation.connectionLost();
    open(1);
    hear(MessageType.RELEASE_WRITER, kept(2), false, SECOND);
    conversation.writingEnded();
    assertFalse(conversation.keepsGrant());
    assertEquals(List.of(MessageType.ABORT_WRITER), sent());
  }

  /** [LOCK-5] */
  @Test
  void aKeptGrantThatTheServerTookIsNotGivenBack() {
    keep();
    notifyLost(5);
    assertFalse(conversation.resume(2 * SECOND));
    assertEquals(List.of(), sent());
  }

  /** [OPEN-2] */
  @Test
  void aKeptGrantEndsWithItsOpening() {
    keep();
    conversation.close();
    assertEquals(List.of(MessageType.CLOSE_SEGMENT), sent());
    assertFalse(conversation.keepsGrant());
  }

  /** [LOCK-6] */
  @Test
  void theSerialsOfAKeptGrantAreUsedFurther() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(5, 1), false, SECOND);
    conversation.grant().serialsAre(12, 3);
    hear(MessageType.RELEASE_WRITER, kept(2), false, SECOND);
    conversation.writingEnded();
    assertTrue(conversation.resume(2 * SECOND));
    assertEquals(12, conversation.grant().firstSerial());
    assertEquals(3, conversation.grant().serialCount());
  }

  /** [FRESH-2] */
  @Test
  void aReleaseOfOurOwnIsTheCopysVersion() {
    fetchFirst();
    hear(MessageType.ACQUIRE_WRITER, granted(7, 1), false, SECOND);
    hear(MessageType.RELEASE_WRITER, released(2), false, 5 * SECOND);
    conversation.writingEnded();
    assertEquals(2, conversation.state().have().number());
    long confirmed =
        Freshness.confirmedAt(conversation.state().knowledge(Freshness.NEVER, SECOND));
    assertEquals(5 * SECOND, confirmed);
    assertNull(conversation.grant());
  }

  /** [COH-11] */
  @Test
  void aCompleteCopyOfALowerNumberReplacesWhatIsHere() {
    fetchFirst();
    hear(MessageType.ACQUIRE_READER, acquired(1, 5), false, SECOND);
    apply();
    hear(MessageType.ACQUIRE_READER, acquired(0, 3), false, SECOND);
    assertEquals(3, conversation.state().newest().number());
    apply();
    assertEquals(3, conversation.state().have().number());
  }
}
