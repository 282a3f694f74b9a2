/// What a server hears and says on one connection of a classic framing. It does no I/O and reads no clock: bytes come in as
/// an argument, steps and answers go out as values.
///
/// A caller shows the bytes that it has, takes one step, drops what was consumed, and asks again until `needsMore`; then it
/// shows what is left with more behind it. However the stream is cut, the steps are the same, except that content and what is
/// skipped may come in other pieces. `ClassicFraming.window` says how much a caller must be able to show at once.
package protocol ClassicConversation: Sendable {
    /// Takes one step. It may consume nothing and be no `needsMore`: one message can be several steps.
    ///
    /// - Throws: `ClassicFault` when the peer broke the rules of the framing. The conversation must not be used after that.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress

    /// What to send when it is known what became of an upload; empty where the framing has no words for it. An upload has
    /// one answer, and answers may come in any order and late.
    func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8]

    /// What to send before the connection is closed because of a fault; empty where the framing has no words for it.
    func answer(to fault: ClassicFault) -> [UInt8]

    /// Whether uploads can declare a digest, so that an acknowledgement is about the bytes that the client had.
    var hasDigests: Bool { get }

    /// Whether the stream may end here without cutting a message or an upload, given that no bytes are left over.
    var isBetweenMessages: Bool { get }
}

/// One step of a conversation.
package struct ClassicProgress: Equatable, Sendable {
    package let step: ClassicStep

    /// Bytes that it took from the front of what was shown.
    package let consumed: Int

    package init(_ step: ClassicStep, consumed: Int = 0) {
        (self.step, self.consumed) = (step, consumed)
    }
}
