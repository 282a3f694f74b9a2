/// What a server says to a client in messages.
package enum MessageAnswer: Equatable, Sendable {
    /// The bytes end before the next message is complete; nothing was consumed.
    case needsMore
    /// A sign of life, or bytes that are skipped.
    case nothing
    /// Something to send: the answer to a ping.
    case reply([UInt8])
    /// What became of an upload: its id, or 0 when it is about the whole conversation, which then ends.
    case result(id: UInt64, ClassicResult)
    /// The server is done.
    case close
}
