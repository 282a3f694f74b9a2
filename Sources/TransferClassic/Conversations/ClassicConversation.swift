/// The server's side of one connection of a classic framing. It does no I/O and reads no clock: bytes come in as
/// arguments, steps and answers go out as values.
///
/// The caller passes the bytes that it has, takes one step, drops the consumed bytes, and repeats this until
/// `needsMore`; then it passes the rest with more bytes appended. However the stream is cut, the steps are the same,
/// except that content and skipped bytes may be divided differently. `ClassicFraming.window` is the number of bytes
/// that the caller must be able to pass at once.
package protocol ClassicConversation: Sendable {
    /// Takes one step. A step other than `needsMore` may consume no bytes, because one message can have several steps.
    ///
    /// - Throws: `ClassicFault` if the peer broke the rules of the framing. The conversation must not be used after
    ///   that.
    mutating func next(_ bytes: RawSpan) throws(ClassicFault) -> ClassicProgress

    /// The answer with the result of an upload; empty if the framing has no message for it. An upload has one answer.
    /// Answers can be made in any order, and long after the upload.
    func answer(to upload: ClassicUpload, _ result: ClassicResult) -> [UInt8]

    /// The answer before the connection is closed because of a fault; empty if the framing has no message for it.
    func answer(to fault: ClassicFault) -> [UInt8]

    /// Whether uploads can declare a digest, so that an acknowledgement covers the bytes on the client's side.
    var hasDigests: Bool { get }

    /// Whether the stream may end here without cutting a message or an upload, if no bytes are left over.
    var isBetweenMessages: Bool { get }
}

/// One step of a conversation.
package struct ClassicProgress: Equatable, Sendable {
    package let step: ClassicStep

    /// The number of bytes consumed from the front.
    package let consumed: Int

    package init(_ step: ClassicStep, consumed: Int = 0) {
        (self.step, self.consumed) = (step, consumed)
    }
}
